//! Every kind of secret in every kind of surroundings.

use super::super::{Kind, findings, redact};
use super::{CAPITALS, HEXES, LETTERS, base64, env_secret, random, rules};

/// A planted value: the text it stands in, and the part of it that must not survive.
struct Plant {
    name: String,
    text: String,
    secret: String,
}

fn token(prefix: &[&str], alphabet: &str, length: usize) -> Plant {
    let prefix = prefix.concat();
    let body = random(alphabet, length, prefix.bytes().map(u64::from).sum());
    Plant { name: prefix.clone(), text: format!("{prefix}{body}"), secret: body }
}

fn around(before: &str, secret: &str, after: &str) -> Plant {
    Plant { name: before.to_owned(), text: format!("{before}{secret}{after}"), secret: secret.to_owned() }
}

#[rustfmt::skip]
fn tokens() -> Vec<Plant> {
    vec![
        token(&["AK", "IA"], CAPITALS, 16), token(&["AS", "IA"], CAPITALS, 16), token(&["AI", "za"], LETTERS, 35),
        token(&["ya", "29."], LETTERS, 60), token(&["GOC", "SPX-"], LETTERS, 28), token(&["gh", "p_"], LETTERS, 36),
        token(&["gh", "o_"], LETTERS, 36), token(&["gh", "s_"], LETTERS, 36), token(&["gh", "u_"], LETTERS, 36), token(&["gh", "r_"], LETTERS, 36),
        token(&["github", "_pat_"], LETTERS, 82), token(&["gl", "pat-"], LETTERS, 20), token(&["gl", "dt-"], LETTERS, 20), token(&["gl", "rt-"], LETTERS, 20),
        token(&["xo", "xb-"], LETTERS, 40), token(&["xo", "xp-"], LETTERS, 40), token(&["xa", "pp-1-"], LETTERS, 40),
        token(&["sk_", "live_"], LETTERS, 24), token(&["rk_", "live_"], LETTERS, 24), token(&["sk_", "test_"], LETTERS, 24), token(&["wh", "sec_"], LETTERS, 32),
        token(&["s", "k-"], LETTERS, 48), token(&["sk-", "proj-"], LETTERS, 80), token(&["sk-", "ant-api03-"], LETTERS, 93), token(&["sk-", "or-v1-"], HEXES, 64),
        token(&["sk-", "lf-"], HEXES, 36), token(&["np", "m_"], LETTERS, 36), token(&["py", "pi-AgEI"], LETTERS, 100), token(&["h", "f_"], LETTERS, 34),
        token(&["SG", "."], LETTERS, 60), token(&["do", "p_v1_"], HEXES, 64), token(&["dp", ".pt."], LETTERS, 43), token(&["da", "pi"], HEXES, 32),
        token(&["shp", "at_"], HEXES, 32), token(&["sq0", "atp-"], LETTERS, 22), token(&["E", "AAC"], LETTERS, 100), token(&["ATA", "TT3"], LETTERS, 60),
        token(&["lin_", "api_"], LETTERS, 40), token(&["nt", "n_"], LETTERS, 46), token(&["fi", "gd_"], LETTERS, 40), token(&["PM", "AK-"], HEXES, 59),
        token(&["NR", "AK-"], LETTERS, 27), token(&["gl", "sa_"], LETTERS, 41), token(&["hv", "s."], LETTERS, 90), token(&["pu", "l-"], HEXES, 40),
        token(&["psc", "ale_tkn_"], LETTERS, 43), token(&["rn", "d_"], LETTERS, 28), token(&["sb", "p_"], HEXES, 40), token(&["dck", "r_pat_"], LETTERS, 27),
        token(&["ruby", "gems_"], HEXES, 48), token(&["ci", "o"], LETTERS, 32), token(&["sn", "trys_"], LETTERS, 60), token(&["gs", "k_"], LETTERS, 52),
        token(&["pp", "lx-"], LETTERS, 48), token(&["xa", "i-"], LETTERS, 80), token(&["r", "8_"], LETTERS, 37), token(&["nv", "api-"], LETTERS, 64),
        token(&["tv", "ly-"], LETTERS, 32), token(&["pc", "sk_"], LETTERS, 60), token(&["lsv2", "_pt_"], HEXES, 42), token(&["key", "-"], HEXES, 32),
        token(&["S", "K"], HEXES, 32), token(&["A", "C"], HEXES, 32), token(&["re", "_"], LETTERS, 33), token(&["AGE-SECRET", "-KEY-1"], CAPITALS, 58),
        token(&["12345678", "9:AA"], LETTERS, 33), token(&["ts", "key-auth-"], LETTERS, 40), token(&["fo", "1_"], LETTERS, 43), token(&["CCI", "PAT_"], LETTERS, 40),
        token(&["ey", "JhbGciOiJIUzI1NiJ9.eyJ"], LETTERS, 80), token(&["LT", "AI"], LETTERS, 20), token(&["aBc8", "Q~"], LETTERS, 34), token(&["xkey", "sib-"], HEXES, 64), token(&["ph", "x_"], LETTERS, 43),
        token(&["A", "3-"], CAPITALS, 33), token(&["p8", "e-"], HEXES, 32), token(&["cm", "Vmd"], LETTERS, 59), token(&["v1.", "0-"], HEXES, 170), token(&["FLW", "SECK_TEST-"], HEXES, 32), token(&["fio-", "u-"], LETTERS, 64),
        token(&["ic", "o-"], LETTERS, 32), token(&["AP", "I-"], CAPITALS, 26), token(&["sha", "256~"], LETTERS, 43), token(&["rzp", "_live_"], LETTERS, 14), token(&["sg", "p_"], HEXES, 57), token(&["AT", "TA"], HEXES, 64),
        token(&["access", "-sandbox-"], HEXES, 36), token(&["wa", "ka_"], HEXES, 36), token(&["s", "k_"], HEXES, 48), token(&["dG", "9rO"], LETTERS, 54),
        token(&["amzn", ".mws."], HEXES, 36), token(&["GOO", "G1E"], CAPITALS, 55), token(&["EA", "AA"], LETTERS, 60), token(&["pat-", "na1-"], HEXES, 36),
        token(&["hooks.zapier", ".com/hooks/catch/1/"], LETTERS, 30), token(&["loggly", ".com/inputs/"], HEXES, 36), token(&["AAAAbcdefgh", ":APA91b"], LETTERS, 134),
        token(&["hooks.slack", ".com/services/T0"], LETTERS, 40), token(&["access_token", "$production$"], LETTERS, 50), Plant { name: "env".into(), text: env_secret(), secret: env_secret() },
    ]
}

#[rustfmt::skip]
fn values() -> Vec<Plant> {
    let word = "hunter2horse";
    let odd = "p4ss!w0rd^";
    let long = random(LETTERS, 40, 5);
    let hex = random(HEXES, 32, 6);
    vec![
        around("DB_PASS: ", word, ""), around("--admin-pass ", odd, ""), around("AZURE_STORAGE_KEY=", &long, ""), around("credentials: ", &long, ""), around("secret = \"/", "Q7x+v0Zk3/JdW9hTfB2mNc8RyPs5LgAe6UoX1i=", "\""),
        around("password=", word, ""), around("password: ", word, ""), around("\"password\": \"", odd, "\""), around("DB_PASSWORD=", odd, ""),
        around("export PGPASSWORD=", word, ""), around("  password: '", odd, "'"), around("password = \"", word, "\";"), around("let passwd: &str = \"", odd, "\";"),
        around("<password>", word, "</password>"), around("--password ", odd, " --verbose"), around("--password=", odd, " x"),
        around("machine h.example login me password ", word, ""), around("Server=db;User Id=sa;Password=", odd, ";Encrypt=yes"),
        around("postgres://app:", word, "@db.example/x"), around("redis://:", word, "@cache:6379/0"), around("mongodb+srv://u:", odd, "@c.example/?w=1"),
        around("https://x-access-token:", &long, "@github.com/a/b.git"), around("https://", &hex, "@sentry.example/1"), around("jdbc:mysql://h/d?user=a&password=", word, "&ssl=1"),
        around("AccountKey=", &format!("{}==", random(LETTERS, 86, 3)), ";EndpointSuffix=x"), around("SharedAccessKey=", &random(LETTERS, 43, 4), "="),
        around("https://b.example/c?sv=2020&sig=", &random(LETTERS, 43, 8), "&se=1"), around("Authorization: Bearer ", &long, ""), around("Authorization: Basic ", &base64("ada:lovelace1815"), ""),
        around("authorization: token ", &hex, ""), around("-H 'Authorization: Bearer ", &long, "' https://x.example"), around("{\"Authorization\": \"Bearer ", &long, "\"}"),
        around("X-Api-Key: ", &hex, ""), around("api_key: \"", &hex, "\""), around("apiKey = '", &long, "'"), around("STRIPE_KEY=", &long, ""), around("aws_secret_access_key = ", &long, ""),
        around("client_secret: ", &long, ""), around("//registry.example/:_authToken=", &hex, ""), around("token: ", &long, ""), around("\"refresh_token\":\"", &long, "\""),
        around("Cookie: session=", &hex, "; theme=dark"), around("Set-Cookie: sid=", &long, "; Path=/"), around("curl -u ada:", word, " https://x.example"),
        around("CREATE USER x IDENTIFIED BY '", word, "'"), around("setenv('API_TOKEN', '", &long, "')"), around("HEROKU_API_KEY=", "0b9d7e4a-1c2d-4e5f-8a9b-0c1d2e3f4a5b", ""),
        around("passphrase: \"", "correct horse battery staple", "\""), around("the password is ", odd, ""), around("jwt_secret=", word, ""), around("ENV SECRET_KEY ", &long, ""),
    ]
}

fn people() -> Vec<Plant> {
    vec![
        around("mail ", "grace.hopper@navy.example.mil", " now"),
        around("Co-authored-by: A <", "12345+ada@users.noreply.github.com", ">"),
        around("call ", "+1 (555) 234-5678", " or"),
        around("call ", "+4930123456789", " or"),
        around("call ", "(555) 234-5678", " or"),
        around("call ", "555-234-5678", " or"),
        around("card ", &["4111", "1111", "1111", "1111"].join(" "), " exp"),
        around("card ", &["4111", "1111", "1111", "1111"].concat(), " exp"),
        around("card ", &["3782", "822463", "10005"].join("-"), " exp"),
        around("cd ", "/home/somebody", "/src"),
        around("cd ", "/Users/some.body", "/src"),
        around("cd ", "C:\\Users\\somebody", "\\src"),
        around("cd ", "C:\\Users\\Some Body", "\\src"),
        around("\"", "C:\\\\Users\\\\somebody", "\\\\src\""),
        around("~/.claude/projects/", "-Users-somebody", "-dev-thing/x.jsonl"),
        around("ls ", "/srv/people/marguerite", "/notes"),
        around("owner ", "marguerite", ":staff"),
        around("ssh ", "thinkfast", " uptime"),
        around("ping ", "thinkfast.corp.example", ""),
    ]
}

type Context = (&'static str, fn(&str) -> String);

fn percent(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn unicode(text: &str) -> String {
    let escapes: Vec<String> = text.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    escapes.concat()
}

fn split(text: &str) -> String {
    text.chars().flat_map(|c| [c, '\u{200b}']).collect()
}

const CONTEXTS: &[Context] = &[
    ("alone", |t| t.to_owned()),
    ("first line", |t| format!("{t}\nand then more")),
    ("last line", |t| format!("some text\n{t}")),
    ("diff", |t| format!("@@ -1 +1 @@\n-{t}\n+{t}\n x")),
    ("JSON", |t| format!("{{\"type\":\"text\",\"text\":{}}}", json(t))),
    ("JSON with slashes escaped", |t| format!("{{\"text\":{}}}", json(t).replace('/', "\\/"))),
    ("JSON in lines", |t| json(&format!("one\n{t}\ntwo"))),
    ("Unicode escapes", |t| format!("\"{}\"", unicode(t))),
    ("percent escapes", |t| format!("https://x.example/?q={}", percent(t))),
    ("base64", |t| format!("data: {} end", base64(t))),
    ("base64 at another offset", |t| base64(&format!("so here it is:\n{t}\n"))),
    ("zero width", split),
    ("soft hyphen and colour", |t| format!("\u{1b}[31m{}\u{1b}[0m", t.replace('e', "e\u{ad}"))),
];

/// More surroundings for what stands by itself.
const TOKEN_CONTEXTS: &[Context] = &[
    ("YAML", |t| format!("auth:\n  value: {t}\n")),
    ("environment", |t| format!("export THING={t}\n")),
    ("URL", |t| format!("https://x.example/cb?code={t}&state=1")),
    ("header", |t| format!("X-Thing: {t}\r\n")),
    ("Python", |t| format!("client = Client('{t}')")),
    ("sentence", |t| format!("I used {t}, which worked (see {t}).")),
    ("Markdown", |t| format!("the value `{t}` is **{t}**")),
    ("shell", |t| format!("echo \"{t}\" | cat")),
];

fn check(plants: &[Plant], contexts: &[Context]) {
    let rules = rules();
    let mut failures = Vec::new();
    for plant in plants {
        for (context, wrap) in contexts {
            let text = wrap(&plant.text);
            let out = redact(&text, &rules);
            let encoded = [
                wrap(&plant.secret),
                plant.secret.clone(),
                percent(&plant.secret),
                unicode(&plant.secret),
                split(&plant.secret),
            ];
            let cut: String = plant.secret.chars().take(plant.secret.chars().count() - 3).collect();
            let survives = encoded.iter().chain([&cut]).any(|s| out.as_str().contains(s.as_str()));
            if survives || out.as_str() == text {
                failures.push(format!("{} in {context}: {text} -> {out}", plant.name));
            }
            assert_eq!(redact(out.as_str(), &rules), out, "twice: {text}");
        }
    }
    assert!(failures.is_empty(), "{} survive:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn tokens_do_not_survive() {
    assert!(tokens().len() >= 60);
    check(&tokens(), CONTEXTS);
    check(&tokens(), TOKEN_CONTEXTS);
    // A token with a prefix of its own goes even when its end is missing.
    let by_prefix: Vec<Plant> = tokens().into_iter().filter(|p| p.name.len() > 2 && p.name != "env").collect();
    check(&by_prefix, &[("cut short", |t| t.chars().take(t.chars().count() - 2).collect())]);
}

#[test]
fn values_behind_a_word_do_not_survive() {
    check(&values(), CONTEXTS);
}

#[test]
fn people_and_places_do_not_survive() {
    // Digits, alone among these, are not looked for in base64: noise has too many.
    let digits = |p: &Plant| p.name.starts_with("call") || p.name.starts_with("card");
    let (numbers, names): (Vec<Plant>, Vec<Plant>) = people().into_iter().partition(digits);
    check(&names, CONTEXTS);
    let contexts: Vec<Context> = CONTEXTS.iter().filter(|(name, _)| !name.starts_with("base64")).copied().collect();
    check(&numbers, &contexts);
}

#[test]
fn private_keys_do_not_survive_with_or_without_an_end() {
    let body = random(LETTERS, 64, 1);
    for label in ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
        let dashes = "-".repeat(5);
        let whole = format!("{dashes}BEGIN {label}{dashes}\n{body}\n{body}\n{dashes}END {label}{dashes}");
        check(&[Plant { name: label.to_owned(), text: whole.clone(), secret: body.clone() }], CONTEXTS);
        let out = redact(&format!("a\n{whole}\nb"), &rules());
        assert!(out.as_str().starts_with("a\n<SECRET:pem:") && out.as_str().ends_with(">\nb"), "{out}");
        let endless = format!("a\n{dashes}BEGIN {label}{dashes}\n{}", "MIIE\nshort\n");
        let out = redact(&endless, &rules());
        assert!(!out.as_str().contains("short"), "{out}");
    }
}

#[test]
fn equal_values_get_equal_placeholders() {
    let rules = rules();
    let plant = token(&["gh", "p_"], LETTERS, 36);
    let id = |text: &str| findings(text, &rules).first().map(|f| (f.kind, f.placeholder.clone())).unwrap();
    let plain = id(&plant.text);
    assert_eq!(plain.0, Kind::Secret("github"));
    assert_eq!(plain, id(&format!("GITHUB_TOKEN={}", plant.text)));
    assert_eq!(plain, id(&base64(&format!("x: {} ", plant.text))));
    assert_eq!(plain, id(&split(&plant.text)));
    assert_eq!(plain, id(&format!("\"{}\"", unicode(&plant.text))));
}
