//! What must come out byte for byte as it went in.

use super::super::redact;
use super::rules;

#[rustfmt::skip]
const INNOCENT: &[&str] = &[
    "", " ", "\n\n", "plain words, nothing else", "naïve café — “quotes” ✓ 漢字",
    "commit 4f2a9c1e8b7d6a5f4e3d2c1b0a9f8e7d6c5b4a39", "index 83db48f..bf269f4 100644", "HEAD is now at 4f2a9c1 Fix it",
    "0b9d7e4a-1c2d-4e5f-8a9b-0c1d2e3f4a5b", "\"sessionId\":\"0b9d7e4a-1c2d-4e5f-8a9b-0c1d2e3f4a5b\"", "toolu_01Qw3Er5Ty7Ui9Op2As4Df6G", "msg_01Zx2Cv4Bn6Mq8We1Rt3Yu5I", "req_011Lk9Jh7Gf5Ds3Aq1Wz2Xe4",
    "v1.2.3-beta.4+build.567", "serde = \"1.0.219\"", "2026-02-03T04:05:06.789Z", "1770091506789", "1770091506789123456", "+1770091506", "-1770091506", "20260203040506",
    "@@ -12,5 +15,7 @@ fn main() {", "src/main.rs:123:45: error[E0308]: mismatched types", "192.168.100.200:8080", "255.255.255.255", "0x7ffd1234abcd", "#ff8800 #abc", "rgb(255, 136, 0)",
    "3.141592653589793238462643383279", "0.4111111111111111", "1 234 567 890", "10.1000/182", "978-3-16-148410-0",
    "let token = tokens.next();", "token: &str, password: String,", "fn password(&self) -> &str {", "password: string;", "const { password } = req.body;", "password = get_password()", "password = os.environ[\"DB_PASSWORD\"]",
    "if token == Token::Eof { return; }", "max_tokens: 4096", "\"input_tokens\":12345,\"output_tokens\":678", "token_count = 1234567890", "tokenizer: cl100k_base", "password: ${DB_PASSWORD}", "PASSWORD=$PASSWORD", "token: ${{ secrets.GITHUB_TOKEN }}",
    "secrets: inherit", "secretName: my-app-tls-v2", "\"password\": null", "Enter your password: ", "forgot password? reset it", "password: \"must be at least 8 characters long\"", "<input type=\"password\" name=\"password\">",
    "primary_key: user_id_2_long_name", "cache_key = \"session-v2-abcdef0123456789\"", "key: value", "Authorization: Bearer $TOKEN", "Authorization: Bearer <token>", "authorization is required for this", "Basic usage of the library", "bearer of bad news arrives tomorrow",
    "git@github.com:owner/repo.git", "ssh://git@github.com/owner/repo.git", "https://github.com/owner/repo/pull/12", "https://example.com:8080/path@v2/file", "npm install @types/node@20.1.0 react@18", "actions/checkout@v4.1.2", "logo@2x.png", "@app.route('/home/')", "getty@tty1.service",
    "src/home/index.tsx", "https://example.com/home/page", "/usr/local/bin/python3", "/etc/hosts", "/home/", "/home/$USER/x", "/home/<user>/x", "/Users/Shared/x", "./Users.tsx", "~/projects/x", "/root/.cargo",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"", "checksum = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
    "sk-learn is scikit-learn", "risk-assessment-and-mitigation-plan", "hf_hub_download(repo_id)", "npm_config_registry=https://registry.example.com/", "the_quick_brown_fox_jumps_over_the_lazy_dog", "crates/hotwash-core/src/redaction/providers", "AKIA is a prefix", "ghp_ is a prefix", "xoxb- too",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "if line.contains(\"-----BEGIN RSA PRIVATE KEY-----\") { warn(); }", "root:x:0:0:root:/root:/bin/bash", "docker run -u 1000:1000 alpine", "al dente, and root access", "let pass = 1; bypass: yes", "assert 5 passed, 0 failed",
    "printf(\"%s\\n\", name)", "100% sure", "50%20", "C:\\Windows\\System32", "\\d{3}-\\d{4}", "x = a[i] + b[j] - 1234", "for i in 0..1000000000 {", "elapsed: 00:12:34.567", "port 5432, pid 123456", "1,234,567.89", "ISO 8601, RFC 3339", "cookie: string", "Cookie: theme=dark",
    "date -u +%Y-%m-%dT%H:%M:%SZ", "token = Store.mint(project.id, 0)", "they pass:\"}],\"stop\"", "**Basic Operations:** tools", "user, password = get_auth(proxy)", "password: Optional[str], x", "run(code, pass_fds=fds)", "the group identified by `name`", "--- PASS: TestReadsEmptyFiles/.hidden (0.00s)", "pub const OPTION_PROXY_PASSWORD: u32 = 4099u32;", "fn seal(input: *const u8, secret: *const u8, n: usize) {", "secret: Aligned64<[u8; SECRET_SIZE]>,", "to pass '{name}' as a value", "or pass 'ignore' to leave it", "load(CERTIFICATE, password=ask_for_it)", "password=bytearray(KEY.encode())", "    password = password.encode(\"latin1\")", "is this the right\n    password combination.", "const miniPass = require('mini-pass-2')", "exports.SOCKS5_NO_AUTH = SOCKS5_NO_AUTH;", "const setPassword = (value, other) => {", "storage_key = \"user-settings-v2\"", "[\"pass\",\"status\",\"password\", \"username\"]", "\"password\", \"email\", \"token\", \"name\"",
    "http://user:password@host/x", "ssh://ada@host.example/repo", "git+https://ada@github.com/a/b.git", "scheme://[user:passwd@]proxy:port", "`[protocol://][user[:password]@]host`", "curl -u user:password https://x.example", "needless_pass_by_value = \"allow\"", "pub const E_PASSWORD: i32 = 0x8004004A_u32 as _;", "pub const PASSWORD_EXPIRED: i32 = -2146368492i32;", "const OID_PASSWORD: &str = \"1.3.132.1.11.1\";",
    "w!(\"CryptMsgDllExportKeyTrans\")", "IMPORT_KEY = \"CryptMsgDllImportKeyTrans\"", "the number +44 1234567", "check(5503284107318959, 446, 11)", "def f(self, secret=None):", "def f(self, secret: str):", "r\"(?P<secret>.+?)/x\"", "print(f\"password={password!r}\")", "'RenderPassDescriptor', 'RenderPassColorAttachmentDescriptor'", "password = \"changeme\"", "password: !vault |", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "AKIAXXXXXXXXXXXXXXXX", "DB_PASS=%DB_PASS%",
    "key = \"sort-by-name-v2\"", "cacheKey: \"0f9e8d7c6b5a49382716059483726150\"", "publicKey = \"0f9e8d7c6b5a49382716059483726150\"", "key: \"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1Olb3zMAFFxXKHiIkQO5cJ3Yhl5i6UPp\"", "RegOpenKeyEx = win32api.RegOpenKeyEx", "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n- name: HOST\n  value: db01", "<property name=\"password\" value=\"${db.password}\"/>", "login(\"ada\", \"password\")", "connect(\"localhost\", \"db.example\")", "mysql -p db1", "docker login -u ada -p $TOKEN1",
    "das Passwort ist falsch", "le mot de passe est incorrect", "mot de passe: string", "la contraseña es obligatoria", "net user bob /delete", "net user", "net user  administrator1", "every internet user joined OAuth2.0", "ASP.NET user registration v2.0beta!", "le mot de passe n'est pas", "mot de passe oublié?", "mot de passe Wi-Fi:", "das Passwort ist ungültig.", "le mot de passe est vérifié.", "la contraseña es inválida.", "a senha é inválida.", "main.rs:5432:let total:count", "localhost:5432:shop:ada:$PASSWORD", "listening on 0.0.0.0:5432: ready", "ldapsearch -x -b dc=example",
    "setPassword(\"Enter a password\")", "password.equals(\"password1\")", "pw = get_pw()", "pass = x[0]", "PASS: TestLogin2", "token =\n  next_token();", "sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"", "kind: ConfigMap\ndata:\n  mode: YWRtaW4tbW9kZQ==",
];

#[test]
fn innocent_text_stays_as_it_is() {
    let rules = rules();
    let harmed: Vec<String> = INNOCENT
        .iter()
        .map(|text| (text, redact(text, &rules)))
        .filter(|(text, out)| out.as_str() != **text)
        .map(|(text, out)| format!("{text} -> {out}"))
        .collect();
    assert!(harmed.is_empty(), "{}", harmed.join("\n"));
}

#[test]
fn a_password_in_prose_goes_as_a_whole() {
    let rules = rules();
    for (text, rest) in [
        ("the password: Tr0ub4dor&3 works", " works"),
        ("the password: Tr0ub4dor&3&9", ""),
        ("the password: Tr0ub4dor3&std::x works", "&std::x works"),
        ("the password: Tr0ub4dor3&${X}", "&${X}"),
        ("the pw: Xk29fLq7&a.b", "&a.b"),
        ("the pw: Xk29fLq7&Straße", "&Straße"),
        ("the password: Tr0ub4dor3&quot; it", "&quot; it"),
        ("?password=Tr0ub4dor3&page=3", "&page=3"),
    ] {
        let out = redact(text, &rules);
        assert!(out.as_str().ends_with(&format!(">{rest}")), "{}", out.as_str());
    }
}

#[test]
fn what_surrounds_a_secret_stays() {
    let rules = rules();
    for (text, expected) in [
        ("cd /home/ada/src && ls", "cd ~/src && ls"),
        ("cd C:\\Users\\ada\\src", "cd ~\\src"),
        ("file:///home/ada/x.rs:12", "file://~/x.rs:12"),
        ("gcc -I/home/ada/include", "gcc -I~/include"),
        ("/mnt/c/Users/ada/x", "/mnt/c~/x"),
        ("ls /srv/people/marguerite/notes", "ls ~/notes"),
    ] {
        assert_eq!(redact(text, &rules).as_str(), expected);
    }
}
