//! The tokens that say themselves who made them: one line per prefix, as data.
//!
//! A token's public format (prefix, alphabet, length) is a fact its provider documents. The least length is set well below the
//! documented one, so that a token of odd length, cut or padded, still goes.

use super::bytes::{
    ALNUM, Alphabet, BASE64, COMMA, DASH, DIGIT, DOLLAR, DOT, DOTTED, EQUALS, HEX, LOWER, PLUS_SLASH, TOKEN, UPPER,
    URL_SAFE, WORD, entropy, has,
};

/// One kind of token with a prefix of its own.
pub(super) struct Pattern {
    pub(super) kind: &'static str,
    /// Where the token starts, in this very case.
    pub(super) prefix: &'static str,
    /// What may follow the prefix; the token ends where this ends.
    pub(super) alphabet: Alphabet,
    /// The least number of bytes after the prefix.
    pub(super) min: usize,
    pub(super) left: Left,
    pub(super) check: Check,
}

/// What may stand before the prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Anything: the prefix occurs in nothing else.
    Any,
    /// Not a letter or digit.
    Word,
    /// The token itself: the prefix is a mark in its middle, and the token reaches back as far as its alphabet does.
    Inside,
}

/// What the bytes after the prefix must show, where a prefix alone would hit words and identifiers.
#[derive(Clone, Copy)]
pub(super) enum Check {
    Nothing,
    Digit,
    /// Drawn at random by the look of it: upper and lower case, or letters and digits, and enough entropy.
    Random,
}

impl Check {
    pub(super) fn holds(self, body: &[u8]) -> bool {
        let body = body.get(..256).unwrap_or(body);
        match self {
            Check::Nothing => true,
            Check::Digit => has(body, DIGIT),
            Check::Random => {
                let kinds = u8::from(has(body, DIGIT)) + u8::from(has(body, UPPER)) + u8::from(has(body, LOWER));
                kinds >= 2 && entropy(body) >= 3.0
            }
        }
    }
}

const fn any(kind: &'static str, prefix: &'static str, alphabet: Alphabet, min: usize) -> Pattern {
    Pattern { kind, prefix, alphabet, min, left: Left::Any, check: Check::Nothing }
}

const fn word(kind: &'static str, prefix: &'static str, alphabet: Alphabet, min: usize, check: Check) -> Pattern {
    Pattern { kind, prefix, alphabet, min, left: Left::Word, check }
}

const fn inside(kind: &'static str, prefix: &'static str, alphabet: Alphabet, min: usize) -> Pattern {
    Pattern { kind, prefix, alphabet, min, left: Left::Inside, check: Check::Random }
}

/// What the hash of a password is written in.
const CRYPT: Alphabet = BASE64 | DOT | DOLLAR | EQUALS | COMMA | DASH;
const CAPS: Alphabet = UPPER | DIGIT;
const SMALL: Alphabet = LOWER | DIGIT;

/// Every prefix we know. For [`Left::Inside`] the least length is that of the whole token.
#[rustfmt::skip]
pub(super) static PATTERNS: &[Pattern] = &[
    // Clouds
    word("aws", "AKIA", CAPS, 12, Check::Nothing),
    word("aws", "ASIA", CAPS, 12, Check::Digit),
    word("aws", "ABIA", CAPS, 12, Check::Digit),
    word("aws", "ACCA", CAPS, 12, Check::Digit),
    word("aws-bedrock", "ABSK", BASE64 | EQUALS, 40, Check::Random),
    any("aws-bedrock", "bedrock-api-key-", TOKEN, 20),
    word("gcp", "AIza", URL_SAFE, 24, Check::Nothing),
    word("gcp", "ya29.", DOTTED, 16, Check::Nothing),
    word("gcp", "GOCSPX-", URL_SAFE, 16, Check::Nothing),
    word("gcp", "1//0", URL_SAFE, 30, Check::Random),
    any("aws-mws", "amzn.mws.", HEX | DASH, 32),
    word("gcp", "GOOG1", CAPS, 50, Check::Random),
    inside("gcp", ".apps.googleusercontent.com", SMALL | DASH, 60),
    inside("firebase", ":APA91b", URL_SAFE, 100),
    inside("azure", "0Q~", TOKEN, 30),
    inside("azure", "1Q~", TOKEN, 30),
    inside("azure", "2Q~", TOKEN, 30),
    inside("azure", "3Q~", TOKEN, 30),
    inside("azure", "4Q~", TOKEN, 30),
    inside("azure", "5Q~", TOKEN, 30),
    inside("azure", "6Q~", TOKEN, 30),
    inside("azure", "7Q~", TOKEN, 30),
    inside("azure", "8Q~", TOKEN, 30),
    inside("azure", "9Q~", TOKEN, 30),
    inside("azure", "JQQJ9", TOKEN, 50),
    inside("azure", "+AStA", BASE64 | EQUALS, 60),
    inside("azure", "ACDb", BASE64 | EQUALS, 60),
    inside("azure", "AZDO", ALNUM, 60),
    any("digitalocean", "dop_v1_", ALNUM, 20),
    any("digitalocean", "doo_v1_", ALNUM, 20),
    any("digitalocean", "dor_v1_", ALNUM, 20),
    word("alibaba", "LTAI", ALNUM, 12, Check::Digit),
    word("tencent", "AKID", ALNUM, 28, Check::Random),
    word("yandex", "AQVN", URL_SAFE, 28, Check::Random),
    word("yandex", "y0_", URL_SAFE, 40, Check::Random),
    word("heroku", "HRKU-", URL_SAFE, 20, Check::Nothing),
    word("fly", "fo1_", URL_SAFE, 20, Check::Nothing),
    word("fly", "fm1r_", TOKEN, 20, Check::Nothing),
    word("fly", "fm1a_", TOKEN, 20, Check::Nothing),
    word("fly", "fm2_", TOKEN, 20, Check::Nothing),
    word("netlify", "nfp_", ALNUM, 20, Check::Nothing),
    word("netlify", "nfc_", ALNUM, 20, Check::Random),
    any("vercel", "vercel_blob_rw_", WORD, 16),
    word("vercel", "vcp_", ALNUM, 20, Check::Random),
    word("supabase", "sbp_", WORD, 20, Check::Random),
    any("supabase", "sb_secret_", URL_SAFE, 16),
    any("planetscale", "pscale_tkn_", TOKEN, 16),
    any("planetscale", "pscale_pw_", TOKEN, 16),
    any("planetscale", "pscale_oauth_", TOKEN, 16),
    word("neon", "napi_", ALNUM, 30, Check::Random),
    any("mongodb", "mdb_sa_sk_", URL_SAFE, 20),
    word("tailscale", "tskey-", URL_SAFE, 16, Check::Nothing),
    any("cloudflare", "cfut_", ALNUM, 30),
    word("cloudflare", "v1.0-", HEX | DASH, 100, Check::Random),
    word("openshift", "sha256~", URL_SAFE, 30, Check::Nothing),
    // Code hosts and registries
    any("github", "ghp_", ALNUM, 16),
    any("github", "gho_", ALNUM, 16),
    any("github", "ghu_", ALNUM, 16),
    any("github", "ghs_", ALNUM, 16),
    any("github", "ghr_", ALNUM, 16),
    any("github", "github_pat_", WORD, 16),
    any("gitlab", "glpat-", DOTTED, 12),
    any("gitlab", "gldt-", DOTTED, 12),
    any("gitlab", "glrt-", DOTTED, 12),
    any("gitlab", "glcbt-", DOTTED, 12),
    any("gitlab", "glptt-", DOTTED, 12),
    any("gitlab", "glft-", DOTTED, 12),
    any("gitlab", "glimt-", DOTTED, 12),
    any("gitlab", "glagent-", DOTTED, 16),
    any("gitlab", "gloas-", DOTTED, 16),
    any("gitlab", "glsoat-", DOTTED, 12),
    any("gitlab", "glffct-", DOTTED, 12),
    any("gitlab", "GR1348941", URL_SAFE, 16),
    word("npm", "npm_", ALNUM, 24, Check::Random),
    word("pypi", "pypi-", URL_SAFE, 32, Check::Random),
    any("rubygems", "rubygems_", ALNUM, 24),
    word("nuget", "oy2", SMALL, 40, Check::Random),
    any("clojars", "CLOJARS_", ALNUM, 30),
    any("docker", "dckr_pat_", URL_SAFE, 16),
    any("docker", "dckr_oat_", URL_SAFE, 16),
    word("artifactory", "AKCp", ALNUM, 40, Check::Random),
    word("artifactory", "cmVmd", BASE64, 40, Check::Random),
    word("atlassian", "ATATT3", TOKEN, 20, Check::Nothing),
    word("atlassian", "ATCTT3", TOKEN, 20, Check::Nothing),
    word("bitbucket", "ATBB", ALNUM, 20, Check::Random),
    word("circleci", "CCIPAT_", WORD, 20, Check::Nothing),
    word("circleci", "CCIPRJ_", WORD, 20, Check::Nothing),
    word("buildkite", "bkua_", ALNUM, 20, Check::Nothing),
    word("sonar", "squ_", ALNUM, 30, Check::Random),
    word("sonar", "sqp_", ALNUM, 30, Check::Random),
    word("sonar", "sqa_", ALNUM, 30, Check::Random),
    word("sourcegraph", "sgp_", WORD, 40, Check::Random),
    word("octopus", "API-", CAPS, 24, Check::Random),
    // Models
    any("anthropic", "sk-ant-", URL_SAFE, 12),
    any("openrouter", "sk-or-", URL_SAFE, 16),
    any("openai", "sk-proj-", URL_SAFE, 16),
    any("openai", "sk-svcacct-", URL_SAFE, 16),
    any("openai", "sk-admin-", URL_SAFE, 16),
    any("langfuse", "sk-lf-", URL_SAFE, 16),
    word("openai", "sk-", URL_SAFE, 18, Check::Random),
    word("huggingface", "hf_", ALNUM, 20, Check::Random),
    any("huggingface", "api_org_", ALNUM, 24),
    word("groq", "gsk_", ALNUM, 20, Check::Random),
    word("perplexity", "pplx-", ALNUM, 20, Check::Nothing),
    word("replicate", "r8_", ALNUM, 24, Check::Random),
    any("together", "tgp_v1_", URL_SAFE, 16),
    word("fireworks", "fw_", ALNUM, 20, Check::Random),
    any("langsmith", "lsv2_", WORD, 24),
    word("tavily", "tvly-", URL_SAFE, 16, Check::Nothing),
    word("firecrawl", "fc-", HEX, 28, Check::Random),
    word("pinecone", "pcsk_", WORD, 24, Check::Nothing),
    word("nvidia", "nvapi-", URL_SAFE, 24, Check::Nothing),
    word("cerebras", "csk-", ALNUM, 24, Check::Random),
    word("elevenlabs", "sk_", HEX, 40, Check::Random),
    // Chat and mail
    any("slack", "xoxb-", URL_SAFE, 10),
    any("slack", "xoxp-", URL_SAFE, 10),
    any("slack", "xoxa-", URL_SAFE, 10),
    any("slack", "xoxr-", URL_SAFE, 10),
    any("slack", "xoxs-", URL_SAFE, 10),
    any("slack", "xoxo-", URL_SAFE, 10),
    any("slack", "xoxc-", URL_SAFE, 10),
    any("slack", "xoxd-", TOKEN, 10),
    any("slack", "xoxe-", URL_SAFE, 10),
    any("slack", "xoxe.", DOTTED, 10),
    any("slack", "xapp-", URL_SAFE, 16),
    any("slack", "hooks.slack.com/", ALNUM | PLUS_SLASH, 20),
    any("discord", "discord.com/api/webhooks/", URL_SAFE | PLUS_SLASH, 20),
    any("discord", "discordapp.com/api/webhooks/", URL_SAFE | PLUS_SLASH, 20),
    any("teams", "webhook.office.com/", TOKEN | PLUS_SLASH, 30),
    word("sendgrid", "SG.", DOTTED, 32, Check::Random),
    word("mailgun", "key-", HEX, 28, Check::Random),
    word("sendinblue", "xkeysib-", URL_SAFE, 20, Check::Nothing),
    word("sendinblue", "xsmtpsib-", URL_SAFE, 20, Check::Nothing),
    any("zapier", "hooks.zapier.com/hooks/catch/", ALNUM | PLUS_SLASH, 20),
    any("ifttt", "/with/key/", URL_SAFE, 18),
    any("loggly", "loggly.com/inputs/", HEX | DASH, 30),
    // Money
    any("stripe", "sk_live_", ALNUM, 10),
    any("stripe", "sk_test_", ALNUM, 10),
    any("stripe", "rk_live_", ALNUM, 10),
    any("stripe", "rk_test_", ALNUM, 10),
    any("stripe", "sk_org_", WORD, 20),
    any("webhook", "whsec_", BASE64 | EQUALS, 16),
    word("square", "sq0atp-", URL_SAFE, 16, Check::Nothing),
    word("square", "sq0csp-", URL_SAFE, 16, Check::Nothing),
    word("square", "EAAA", URL_SAFE, 56, Check::Random),
    word("meta", "EAA", ALNUM, 48, Check::Random),
    any("braintree", "access_token$production$", ALNUM | DOLLAR, 24),
    any("braintree", "access_token$sandbox$", ALNUM | DOLLAR, 24),
    any("shopify", "shpat_", ALNUM, 20),
    any("shopify", "shpss_", ALNUM, 20),
    any("shopify", "shpca_", ALNUM, 20),
    any("shopify", "shppa_", ALNUM, 20),
    word("easypost", "EZAK", ALNUM, 40, Check::Random),
    word("easypost", "EZTK", ALNUM, 40, Check::Random),
    any("shippo", "shippo_live_", ALNUM, 20),
    any("shippo", "shippo_test_", ALNUM, 20),
    any("duffel", "duffel_live_", URL_SAFE, 20),
    any("duffel", "duffel_test_", URL_SAFE, 20),
    any("flutterwave", "FLWSECK", URL_SAFE, 20),
    word("razorpay", "rzp_live_", ALNUM, 10, Check::Nothing),
    word("razorpay", "rzp_test_", ALNUM, 10, Check::Nothing),
    any("plaid", "access-production-", HEX | DASH, 30),
    any("plaid", "access-development-", HEX | DASH, 30),
    any("plaid", "access-sandbox-", HEX | DASH, 30),
    // Work tools
    any("linear", "lin_api_", ALNUM, 20),
    any("linear", "lin_oauth_", ALNUM, 20),
    word("notion", "secret_", ALNUM, 36, Check::Random),
    word("hubspot", "pat-na1-", HEX | DASH, 30, Check::Random),
    word("hubspot", "pat-eu1-", HEX | DASH, 30, Check::Random),
    any("figma", "figd_", URL_SAFE, 20),
    any("figma", "figu_", URL_SAFE, 20),
    word("postman", "PMAK-", URL_SAFE, 24, Check::Nothing),
    word("contentful", "CFPAT-", URL_SAFE, 24, Check::Nothing),
    word("typeform", "tfp_", DOTTED, 30, Check::Random),
    word("readme", "rdme_", ALNUM, 30, Check::Random),
    any("launchdarkly", "sdk-", HEX | DASH, 36),
    word("trello", "ATTA", ALNUM, 50, Check::Random),
    word("wakatime", "waka_", HEX | DASH, 30, Check::Random),
    word("intercom", "dG9rO", BASE64 | EQUALS, 40, Check::Random),
    word("adobe", "p8e-", ALNUM, 28, Check::Random),
    word("frameio", "fio-u-", URL_SAFE, 30, Check::Random),
    // Operations
    word("doppler", "dp.pt.", DOTTED, 20, Check::Nothing),
    word("doppler", "dp.st.", DOTTED, 20, Check::Nothing),
    word("doppler", "dp.ct.", DOTTED, 20, Check::Nothing),
    word("doppler", "dp.sa.", DOTTED, 20, Check::Nothing),
    word("doppler", "dp.scim.", DOTTED, 20, Check::Nothing),
    word("newrelic", "NRAK-", ALNUM, 20, Check::Nothing),
    word("newrelic", "NRII-", URL_SAFE, 20, Check::Nothing),
    inside("newrelic", "NRAL", HEX, 36),
    any("grafana", "glc_", TOKEN, 24),
    any("grafana", "glsa_", WORD, 24),
    word("grafana", "eyJrIjoi", TOKEN, 40, Check::Nothing),
    word("vault", "hvs.", URL_SAFE, 20, Check::Nothing),
    word("vault", "hvb.", URL_SAFE, 20, Check::Nothing),
    word("vault", "hvr.", URL_SAFE, 20, Check::Nothing),
    inside("terraform", ".atlasv1.", DOTTED, 40),
    any("sentry", "sntrys_", TOKEN, 24),
    any("sentry", "sntryu_", ALNUM, 24),
    word("dynatrace", "dt0c01.", DOTTED, 24, Check::Nothing),
    word("dynatrace", "dt0s16.", DOTTED, 24, Check::Nothing),
    word("prefect", "pnu_", ALNUM, 30, Check::Random),
    word("posthog", "phx_", URL_SAFE, 24, Check::Random),
    any("onepassword", "ops_eyJ", TOKEN, 24),
    word("onepassword", "A3-", CAPS | DASH, 30, Check::Random),
    inside("maxmind", "_mmk", WORD, 36),
    any("age", "AGE-SECRET-KEY-1", ALNUM, 16),
    word("deno", "ddp_", ALNUM, 30, Check::Random),
    any("jwt", "sk.eyJ", DOTTED | DOT, 24),
    // What passwords were made into
    word("hash", "$1$", CRYPT, 24, Check::Random),
    word("hash", "$5$", CRYPT, 44, Check::Random),
    word("hash", "$6$", CRYPT, 80, Check::Random),
    word("hash", "$y$", CRYPT, 40, Check::Random),
    word("hash", "$2a$", CRYPT, 50, Check::Random),
    word("hash", "$2b$", CRYPT, 50, Check::Random),
    word("hash", "$2x$", CRYPT, 50, Check::Random),
    word("hash", "$2y$", CRYPT, 50, Check::Random),
    word("hash", "$P$B", CRYPT, 28, Check::Random),
    word("hash", "$H$9", CRYPT, 28, Check::Random),
    word("hash", "$S$D", CRYPT, 48, Check::Random),
    any("hash", "$apr1$", CRYPT, 24),
    any("hash", "$argon2", CRYPT, 40),
    any("hash", "$scrypt$", CRYPT, 40),
    any("hash", "pbkdf2_sha256$", CRYPT, 40),
    any("hash", "pbkdf2_sha1$", CRYPT, 30),
];

/// Prefixes that are in too many words to be anchors. They are looked for only in long runs of token letters.
#[rustfmt::skip]
pub(super) static IN_RUNS: &[Pattern] = &[
    word("twilio", "SK", HEX, 32, Check::Digit),
    word("twilio", "AC", HEX, 32, Check::Digit),
    word("crates-io", "cio", ALNUM, 30, Check::Random),
    word("resend", "re_", WORD, 24, Check::Random),
    word("voyage", "pa-", URL_SAFE, 40, Check::Random),
    word("infracost", "ico-", ALNUM, 28, Check::Random),
    word("render", "rnd_", ALNUM, 20, Check::Random),
    word("adafruit", "aio_", ALNUM, 24, Check::Random),
    word("pulumi", "pul-", HEX, 32, Check::Random),
    word("xai", "xai-", ALNUM, 24, Check::Random),
    word("notion", "ntn_", ALNUM, 24, Check::Random),
    word("databricks", "dapi", HEX | DASH, 28, Check::Random),
];
