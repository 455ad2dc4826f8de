//! Every way of writing a secret down that gives it away by where it stands.

use super::super::redact;
use super::{CAPITALS, HEXES, LETTERS, random, rules};

/// Something of everything that values are made of.
struct Values {
    hex: String,
    long: String,
    pass: String,
    key: String,
    seed: String,
    uuid: String,
}

fn values() -> Values {
    let hex = random(HEXES, 40, 21);
    let part = |from: usize, to: usize| hex.get(from..to).unwrap().to_owned();
    Values {
        long: random(LETTERS, 32, 22),
        pass: ["osprey", "Lantern", "4417"].concat(),
        key: random(HEXES, 64, 23),
        seed: format!("S{}", random(CAPITALS, 55, 24)),
        uuid: [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-"),
        hex,
    }
}

/// Every `%` stands for the secret. It must be gone, and what is left must stay as it is.
fn check(secret: &str, forms: &[&str]) {
    let rules = rules();
    let kept: Vec<String> = forms
        .iter()
        .map(|form| format!("# file\n{}\nlast: line\n", form.replace('%', secret)))
        .filter(|text| {
            let out = redact(text, &rules);
            assert_eq!(redact(out.as_str(), &rules), out, "twice: {text}");
            out.as_str().contains(secret) || !out.as_str().ends_with("last: line\n")
        })
        .collect();
    assert!(kept.is_empty(), "{} survive:\n{}", kept.len(), kept.join("\n"));
}

#[test]
#[rustfmt::skip]
fn keys_under_names_that_are_often_innocent() {
    let names = [
        "writeKey: \"%\"", "\"serverKey\":\"%\"", "clientKey=\"%\"", "applicationKey = \"%\"", "appkey: '%'", "aesKey = \"%\"", "key = \"%\"", "\"key\": \"%\",",
        "  key: %", "KEY='%'", "salt = \"%\"", "config.pepper = '%'", "ACCESS_KEY_ID=%", "https://x.example/js?key=%&callback=f", "https://x.example/?q=a&appid=%",
        "static byte[] key = \"%\".getBytes();", "'cookieValidationKey' => '%',", "mvn sonar:sonar -Dsonar.login=%",
    ];
    let Values { hex, long, uuid, .. } = values();
    for secret in [hex, long, uuid] {
        check(&secret, &names);
    }
}

#[test]
#[rustfmt::skip]
fn values_apart_from_their_names() {
    let pairs = [
        "<add key=\"SmtpPassword\" value=\"%\" />", "<property name=\"password\" value=\"%\"/>", "<property value=\"%\" name=\"db.password\"/>", "<property name=\"hibernate.connection.password\">%</property>",
        "<entry key=\"db.password\">%</entry>", "<property name=\"password\"><value>%</value></property>", "<wsse:Password Type=\"text\">%</wsse:Password>", "<password><![CDATA[%]]></password>",
        "- name: DB_PASSWORD\n  value: \"%\"", "- name: DB_PASSWORD\n  value: %", "{\"name\": \"DB_PASSWORD\", \"value\": \"%\"}", "{\"ParameterKey\": \"DbPassword\", \"ParameterValue\": \"%\"}",
        "variable \"db_password\" {\n  type    = string\n  default = \"%\"\n}", "\"adminPassword\": { \"value\": \"%\" },", "  DBPassword:\n    Type: String\n    Default: %",
    ];
    let Values { hex, long, pass, .. } = values();
    check(&pass, &pairs);
    check(&hex, &[
        "<meta-data android:name=\"io.fabric.ApiKey\" android:value=\"%\" />", "<meta-data\n    android:name=\"com.x.ApiKey\"\n    android:value=\"%\" />", "<key>ClientKey</key>\n<string>%</string>",
        "<string name=\"client_token\">%</string>",
    ]);
    check(&long, &[
        "password = (\n    \"%\"\n)", "const token =\n  \"%\";", "api_key: >-\n  %", "\"secret\":\n    \"%\"", "API_TOKEN = \\\n  \"%\"", "| API_KEY | % |", "got secret % from the vault",
    ]);
}

#[test]
#[rustfmt::skip]
fn arguments_and_comparisons() {
    let Values { long, pass, .. } = values();
    check(&pass, &[
        "user.setPassword(\"%\")", "SET PASSWORD FOR 'a'@'h' = PASSWORD('%');", "if (password.equals(\"%\")) {", "strcmp(password, \"%\")", "ConvertTo-SecureString \"%\" -AsPlainText", "ConvertTo-SecureString -String \"%\"",
        "smtp.login('ada@x.example', '%')", "auth=(\"ada\", \"%\")", "new NetworkCredential(\"ada\", \"%\")", "HTTPBasicAuth(\"ada\", \"%\")", "mysqli_connect('localhost','root','%','db')", "new PDO(\"mysql:host=h\", \"root\", \"%\");",
        "DriverManager.getConnection(url, \"ada\", \"%\")", "page.locator(\"#password\").fill(\"%\")", "process.env.DB_PASS || \"%\"", "define('DB_PASSWORD', '%');", "CREATE USER ada IDENTIFIED BY %;",
    ]);
    check(&long, &["client.setClientSecret('%');", "x.setDeveloperKey(\"%\")", "jwt.sign(payload, '%')", "mixpanel.init(\"%\");", "firebase.auth(\"%\")", "algoliasearch(\"APPID1234\", \"%\")"]);
    let (id, secret) = (["AK", "IA"].concat() + &random(CAPITALS, 16, 31), random(LETTERS, 40, 32));
    check(&secret, &[&format!("new Credentials(\"{id}\", \"%\")")]);
}

#[test]
#[rustfmt::skip]
fn strings_of_many_languages() {
    check(&values().long, &[
        "#define API_KEY @\"%\"", "#define APP_KEY    \"%\"", "static NSString *const kAPIKey = @\"%\";", "var hmacKey = []byte(\"%\")", "WITH PASSWORD = N'%'", "api_key <- \"%\"", "  @api_key \"%\"", "(def api-key \"%\")",
        "set(API_KEY \"%\")", "-define(API_KEY, \"%\").", "{:api-token \"%\"}", "char auth[] = \"%\";", "Authorization: Token token=\"%\"",
    ]);
}

#[test]
#[rustfmt::skip]
fn commands_and_configuration() {
    let Values { pass, uuid, .. } = values();
    check(&pass, &[
        "mysql -u root -p% db", "mysqldump -uroot -p\"%\" db", "sshpass -p% ssh h", "sshpass -p '%' ssh h", "docker login -u ada -p % registry.example", "twine upload -u ada -p % dist/*", "mongodump -u ada -p % --db x",
        "redis-cli -h h -a % ping", "sqlcmd -S h -U sa -P %", "keytool -storepass % -x", "command: redis-server --requirepass %", "plink -pw % h", "ldapsearch -x -D cn=ada -w % -b dc=x", "net user ada % /add", "db.example.com:5432:shop:ada:%", "*:5432:*:ada:%\n", "openssl pkcs12 -in a.p12 -passin pass:% -nodes",
        "Das Passwort ist %", "das Kennwort lautet %.", "le mot de passe est %", "Mot de passe : %", "contraseña: %", "CONTRASEÑA: %", "mot_de_passe = %", "la contraseña es %", "senha: %", "a senha é %", "requirepass %", "  bindpw %", "rootpw \"%\"", "olcRootPW: %", "masterauth %",
        "echo % | sudo -S ls", "echo \"ada:%\" | chpasswd", "echo '%' | docker login -u ada --password-stdin", "jdbc:oracle:thin:scott/%@h:1521:xe", "sqlplus system/%@orcl", "ada:%@tcp(127.0.0.1:3306)/app", "\"ada:%@unix(/tmp/my.sock)/db\"",
        "setenv DBPASS %", "ldap.bind.pw=%", "REDIS_PW=%", "PW: %", "\"pw\": \"%\"", "$dbpass = '%';", "smtppass: %", "[db]\npass = %", "psk=\"%\"", "- **Password**: %", "(password `%`)",
    ]);
    check(&uuid, &["vault login %", "authtoken %", "snyk auth %"]);
}

#[test]
#[rustfmt::skip]
fn tokens_known_by_their_shape() {
    let mixed = |length, seed| random(LETTERS, length, seed);
    let dots = [mixed(26, 41), mixed(6, 42), mixed(38, 43)].join(".");
    let plain = ["x = \"%\"", "- %", "echo % | tool", "init('%')"];
    for secret in [
        dots, format!("{}NRAL", random(HEXES, 36, 44)), format!("pat{}.{}", mixed(14, 45), random(HEXES, 64, 46)), format!("1/{}:{}", random("123456789", 16, 47), random(HEXES, 32, 48)),
        format!("sl.{}", mixed(135, 49)), format!("6Le{}AAAAA{}", mixed(5, 50), mixed(27, 51)), format!("s.{}", mixed(24, 52)), format!("{}-{}.apps.googleusercontent.com", random("123456789", 12, 53), random(HEXES, 32, 54)),
    ] {
        check(&secret, &plain);
    }
    check(&values().hex, &["https://%:x-oauth-basic@github.com/a/b.git", "{\"github-oauth\": {\"github.com\": \"%\"}}"]);
}

#[test]
#[rustfmt::skip]
fn private_keys_without_a_frame() {
    let Values { key, seed, .. } = values();
    let words = ["sk = \"%\"", "seed: %", "privkey: %", "\"priv_key\": \"%\"", "new ethers.Wallet(\"%\", provider)", "accounts: [\"%\"]", "Keypair.fromSecret(\"%\")"];
    check(&key, &words);
    check(&format!("0x{key}"), &words);
    check(&seed, &words);
    let body = random(LETTERS, 86, 61);
    check(&body, &[
        "{\"kty\":\"EC\",\"x\":\"abc\",\"d\":\"%\"}", "{\"d\": \"%\", \"kty\": \"EC\"}", "<RSAKeyValue><Exponent>AQAB</Exponent><D>%</D></RSAKeyValue>", "\"type\": \"x/PrivKeyEd25519\",\n\"value\": \"%==\"",
        "kind: Secret\ndata:\n  whatever: %", "data:\n  whatever: %\nkind: Secret",
    ]);
    let dashes = "-".repeat(5);
    check(&key, &[&format!("{dashes}BEGIN OpenVPN Static key V1{dashes}\n%\n%\n{dashes}END OpenVPN Static key V1{dashes}")]);
}
