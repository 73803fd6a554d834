// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"testing"
)

// The mark in the secrets is taken out before they are used. It keeps scanners of code hosts from taking the file for a leak.
func TestSecretsOfManyFormsAreFound(t *testing.T) {
	r := testRedactor(t)
	for _, text := range []string{
		`export AWS_SECRET_ACCESS_KEY=abcdefghijklmnopqrstuvwxyzABCDEFGHIJ1234`,
		`aws configure set aws_secret_access_key abcdefghijklmnopqrstuvwxyzABCDEFGHIJ1234`,
		`curl -H "X-Api-Key: 0123456789abcdef0123456789abcdef" https://api`,
		`curl -u admin:S3cretPass https://x`,
		`mysql -u root -pS3cretPass db`,
		`psql "host=db user=app password=S3cret!pass dbname=x"`,
		`mongodb+srv://admin:P%40ssw0rd@cluster0.mongodb.net/test`,
		`jdbc:postgresql://db/x?user=a&password=s3cretpw`,
		`Server=tcp:x.database.windows.net;Database=d;User ID=u;Password=P@ssw0rd123;`,
		`redis://:p4ssw0rd@redis:6379/0`,
		`https://oauth2:g¦lpat-ABCDEFGHIJ1234567890@gitlab.com/x.git`,
		`https://abcdef1234567890abcdef@github.com/x.git`,
		`my password is Tr0ub4dor&3`,
		`the API key is 9a8b7c6d5e4f3a2b1c0d`,
		`use token 9a8b7c6d5e4f3a2b1c0d9a8b`,
		`password: "hunter2"`,
		`passwd = 'letmein'`,
		`"auth": {"user": "bob", "pass": "Sup3rS3cret"}`,
		`Authorization: Basic dXNlcjpwYXNzd29yZA==`,
		`Authorization: token 0123456789abcdef0123456789abcdef01234567`,
		`Proxy-Authorization: Bearer abcd1234efgh5678`,
		`Cookie: sid=31d4d96e407aad42; theme=dark`,
		`Set-Cookie: session=e¦yJhbGciOi; Path=/`,
		`private_key: |\n  -¦----BEGIN OPENSSH PRIVATE KEY-----\n b3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n -----END OPENSSH PRIVATE KEY-----`,
		`{"type":"service_account","private_key_id":"0123456789abcdef0123456789abcdef01234567","private_key":"-¦----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n","client_email":"x@y.iam.gserviceaccount.com"}`,
		`AccountKey=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwx==`,
		`SharedAccessSignature sv=2020&sig=abcDEF123456%2Bxyz%3D&se=1`,
		`?sv=2020-08-04&ss=b&sig=abcDEF123456abcDEF123456%2Bxyz%3D`,
		`x¦oxp-1234567890-1234567890123-1234567890123-abcdef1234567890abcdef1234567890`,
		`A¦IzaSyA-1234567890abcdefghijklmnopqrstu`,
		`y¦a29.a0AfH6SMBx-1234567890abcdefghij`,
		`G¦OCSPX-1234567890abcdefghijklmnop`,
		`E¦AACEdEose0cBA1234567890abcdef`,
		`s¦q0atp-1234567890abcdefghijkl`,
		`S¦G.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG`,
		`k¦ey-0123456789abcdef0123456789abcdef`,
		`A¦C0123456789abcdef0123456789abcdef`,
		`w¦hsec_abcdefghij1234567890`,
		`f¦igd_abcdefghijklmnopqrstuvwx1234`,
		`d¦ckr_pat_abcdefghijklmnopqrstuvwxy12`,
		`t¦skey-auth-abcdefCNTRL-1234567890abcdef`,
		`p¦k_live_abcdef1234567890abcdef12`,
		`r¦8_1234567890abcdefghijABCDEFGHIJ123456`,
		`p¦plx-1234567890abcdef1234567890abcdef1234567890abcdef`,
		`co_api_key: abcdefghij1234567890ABCDEFGHIJ1234567890`,
		`n¦vapi-1234567890abcdefghijklmnopqrstuvwxyz`,
		`l¦sv2_pt_1234567890abcdef1234567890abcdef_1234567890`,
		`h¦f_abcdefghijklmnopqrstuvwxyzABCDEFGH`,
		`-¦----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----`,
		`e¦yJhbGciOiJub25lIn0.e¦yJzdWIiOiIxMjM0NTY3ODkwIn0.`,
		`4012-8888-8888-1881`,
		`5105105105105100`,
		`3782 822463 10005`,
		`6011000990139424 exp 12/27 cvv 123`,
		`IBAN: GB29 NWBK 6016 1331 9268 19`,
		`iban gb29nwbk60161331926819`,
		`SSN 078-05-1120`,
		`ssn: 078051120`,
		`+1 (415) 555-2671`,
		`+14155552671`,
		`415.555.2671`,
		`(415) 555-2671 ext. 12`,
		`tel:+442079460958`,
		`020 7946 0958`,
		`01 23 45 67 89`,
		`2001:0db8:85a3:0000:0000:8a2e:0370:7334`,
		`8.8.8.8`,
		`jane.doe+test@sub.example.co.uk`,
		`"Jane" <jane@example.org>`,
		`mailto:jane@example.org?subject=x`,
		`DNI 12345678Z`,
		`NIE X1234567L`,
		`RSSMRA85T10A562S`,
		`AB123456C`,
		`111.444.777-35`,
		`passport no. 123456789`,
		`BSN 111222333`,
		`PESEL 44051401359`,
		`Steuer-ID 86095742719`,
		`personnummer 811218-9876`,
		`1 84 12 76 451 089 46`,
		`aadhaar 2345 6789 0124`,
		`jane%40example.com`,
		`password%3Dhunter2secret`,
		`{"headers":[["Authorization","Bearer abc123def456"]]}`,
		`{'Authorization': 'Bearer abc123def456'}`,
		`headers={"X-Auth-Token": "abc123def456"}`,
		`--api-key=abc123def456`,
		`--token abc123def456ghi789`,
		`PGPASSWORD=s3cretpw psql`,
		`sshpass -p 's3cretpw' ssh x`,
		`docker login -u x -p s3cretpw`,
		`<password>hunter2</password>`,
		`<Password Type="x">hunter2</Password>`,
		`password="hunter2"`,
		`:password => "hunter2"`,
		`password := "hunter2"`,
		`"password":"hunter2"`,
		`password='p@ss''word'`,
		`set PASSWORD "hunter2x"`,
		`client_secret: 3a4b5c6d-7e8f-9012-3456-789012345678`,
		`otp: 123456`,
		`secret=JBSWY3DPEHPK3PXP`,
		`otpauth://totp/x?secret=JBSWY3DPEHPK3PXP&issuer=x`,
		`seed phrase: abandon abandon ability able about above absent absorb abstract absurd abuse access`,
	} {
		text = strings.ReplaceAll(text, "\u00a6", "")
		out := r.String("content", text, nil)
		if out == text {
			t.Errorf("%q was left", text)
		}
		if again := r.String("content", out, nil); again != out {
			t.Errorf("%q became %q when it was redacted again", out, again)
		}
	}
}

func TestWhatOnlyLooksLikeASecretIsLeftAlone(t *testing.T) {
	r := testRedactor(t)
	for _, text := range []string{
		`Langfuse(public_key="<YOUR_PUBLIC_KEY>", secret_key="<YOUR_SECRET_KEY>", host="https://cloud.langfuse.com")`,
		`secret_key="<YOUR_SECRET_KEY>"`,
		`export OPENAI_API_KEY=$OPENAI_API_KEY`,
		`os.environ["OPENAI_API_KEY"] = "your-key-here"`,
		`api_key = os.getenv("X")`,
		`token = tokenizer.encode(text)`,
		`password: str = Field(...)`,
		`def login(password: str, token: Optional[str] = None)`,
		`{"type":"object","properties":{"password":{"type":"string","description":"The password of the user"},"api_key":{"type":"string","default":""}},"required":["password","api_key"]}`,
		`Please enter your password: `,
		`The password is required.`,
		`the secret: never give up`,
		`Token count: 1234`,
		`key: value`,
		`the token is expired`,
		`password=password`,
		`Authorization: Basic auth is required`,
		`Bearer authentication required`,
		`secret santa is at 5`,
		`const token = await getToken()`,
		`if password == "": raise`,
		`PASSWORD_HASHERS = ["django"]`,
		`auth: none`,
		`"logprobs": [{"token":"hello","logprob":-0.1},{"token":" world"}]`,
		`/api/v1/keys/list?key=name`,
		`sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
		`commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b`,
		`550e8400-e29b-41d4-a716-446655440000`,
		`call_9f86d081884c7d659a2feaa0c55ad015`,
		`version 1.2.3.4`,
		`2024-01-31 12:30:45`,
		`1700000000000`,
		`price 1234 5678 9012`,
		`isbn 978-3-16-148410-0`,
		`call me maybe at 10:30`,
		`order number 123-456-789`,
		`{"key":"d41d8cd98f00b204e9800998ecf8427e"}`,
		`{"crew_key":"d41d8cd98f00b204e9800998ecf8427e"}`,
		`pip install foo==1.2.3.4`,
		`ssh git@github.com:org/repo.git`,
		`rate 100.200.300.400`,
		`lat 37.7749, lon -122.4194`,
		`task-1234567890abcdefghijkl`,
		`sk-learn-contrib-something-long`,
		`risk-assessment-framework-2024-v2`,
		`pwd: /home/user/project`,
		`PWD=/home/user`,
		`SSH_AUTH_SOCK=/tmp/ssh-XXXX/agent.1234`,
		`token_type: Bearer`,
		`"x-request-id": "req_0123456789abcdef"`,
		`"anthropic-organization-id":"9f86d081-884c-7d65-9a2f-eaa0c55ad015"`,
		`nextPageToken: CAUQAA`,
		`logo@2x.png and @types/node@1.2.3`,
		`the author of keyword and monkey`,
		`{"max_tokens":4096,"prompt_tokens":12,"token_count":99999999,"primary_key":"users_0001_abcdefgh"}`,
		`std::vector<int>::iterator, 12:30:45, a::b`,
		`User-Agent: Mozilla/5.0 Chrome/131.0.0.0 Safari/537.36`,
		`mutex at 0x7f3a2b1c0d9e, 1e-05, 3.14159265358979`,
		`resp_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b`,
		// source code: members, types, calls, numbers, patterns, names of tests
		`type SharedKeyCredential = exported.SharedKeyCredential`,
		`	SessionToken:    *resp.Credentials.SessionToken,`,
		`if entry.AccessKey == credentials.AccessKeyID {`,
		`req.Password = form.UserPassword`,
		`	NetHostNameKey:     semconv.NetHostNameKey,`,
		`	idpCreds.ClientSecretAuth = &oauthex.ClientSecretAuth{`,
		`credential: TokenCredential;`,
		`cookies: RequestsCookieJar | None = None,`,
		`    def __init__(self, client_secrets: ClientSecrets) -> None:`,
		`return GoogleAIAuth(api_key=google_api_key)`,
		`def from_private_bytes(data: Buffer) -> x25519.X25519PrivateKey: ...`,
		`func probe(numKeys int, hashes []uintptr, keys sparse.Uint64Array, values []int32) int {`,
		`def cached(key: GenericTypesCacheKey) -> type[BaseModel] | None:`,
		`//sys	regDeleteKey(key syscall.Handle, subkey *uint16) (regerrno error) = advapi32.RegDeleteKeyW`,
		`export type { WorkloadIdentity, X509WorkloadIdentity, SubjectTokenProvider } from "./types.js";`,
		`import { CreateSHA256CodeChallengeResponse } from "../funcs/oAuthCreateSHA256CodeChallenge.js";`,
		`jwt: "JWT",`,
		`const LoadAccessToken = "loadAccessToken";`,
		`const GATEWAY_API_KEY = "GATEWAY_API_KEY";`,
		`  "refreshToken": "refresh token",`,
		`	_NSS_BUFLEN_PASSWD  = 0x400`,
		"const VALID_KEY = `[a-z]${VALID_KEY_CHAR_RANGE}{0,255}`;",
		"const VALID_VENDOR_KEY = `[a-z0-9]${VALID_KEY_CHAR_RANGE}{0,240}@[a-z]${VALID_KEY_CHAR_RANGE}{0,13}`;",
		"calling the credential's `authenticate()` method; pass credentials to `bedrock(...)` or configure",
		`def test_setting_30m_timeout_populates_header_and_request_timeout():`,
		`def test_astype_invalid_nas_to_tdt64_raises():`,
		`password (bool): Enable password entry.`,
		`enter your username and password below`,
		"decisions identified by `required_input`.",
		`may differ from the one identified by the client.`,
		`self._password = to_bytes(password)`,
		`self.key_password = key_password`,
		`options.PerRPCCreds = &grpcCredentialsProvider{creds: given, endpoint: endpoint}`,
		`if s.PrintAnalyzerMeasurement != nil {`,
		`Get returns the middleware identified by id. If there is none, it returns false.`,
		"Elements AuthorizationData `asn1:\"explicit,tag:1\"`",
		"Tpm2    *Tpm2Pin    `json:\"tpm2,omitempty\"`",
		`_HEX_PAT = "[0-9A-Fa-f]{1,4}"`,
		`session(credentials=credentials, region=region)`,
		`print(f"password={password!r}")`,
		`def generate_mldsa44_key() -> mldsa.MLDSA44PrivateKey: ...`,
		`exports.ClientSecrets = exports.commandStack = exports.Calls = void 0;`,
		`Translations.ClientSecrets = ClientSecrets;`,
		`if (adminAPIKey || workloadIdentity) {`,
		`func (m *Credentials) MarshalVTStrict() (dAtA []byte, err error) {`,
		`func (wt *WrapToken) computeCheckSum(key types.EncryptionKey, keyUsage uint32) ([]byte, error) {`,
	} {
		if out := r.String("content", text, nil); out != text {
			t.Errorf("%q became %q", text, out)
		}
	}
}

// One run in ten thousand was lost for it: ids and digests that this program makes itself hold, by chance, what a number of a person or a key looks like.
func TestGroupsOfAUUIDAreNoNumbersAndTheBeginOfADigestIsNoKey(t *testing.T) {
	r := testRedactor(t)
	for _, id := range []string{"e9a59aba-4238-5678-8444-a17ec5f55f21", "93e349ef-3470-5203-9958-e609c5c10dd3", "42385678-8444-4238-8444-423856788444", "4b1d" + strings.Repeat("5a0f", 15)} {
		for _, in := range []string{id, `{"snapshot_id":"` + id + `"}`, "run " + id + " done", "/runs/" + id + "/tape.json"} {
			if out := r.String("content", in, nil); out != in {
				t.Errorf("%q became %q", in, out)
			}
		}
	}
	// A key is one wherever it stands, without a name: the rule for it asks for its length alone.
	key := "4b1d" + strings.Repeat("Za0f", 9) + "Zx"
	for _, in := range []string{key, "got " + key + ", thanks", `{"output":"` + key + `"}`, "https://x.example.com/?q=" + key + "&n=1", "(" + key + ")"} {
		if out := r.String("content", in, nil); strings.Contains(out, key) || !strings.Contains(out, "[REDACTED:clickhouse-secret:") {
			t.Errorf("%q became %q", in, out)
		}
	}
	for _, in := range []string{"aadhaar 4238-5678-8444", "4238-5678-8444", "secret 4b1d" + strings.Repeat("Za0f", 9) + "Zx"} {
		if out := r.String("content", in, nil); out == in {
			t.Errorf("nothing was found in %q", in)
		}
	}
}

// What only resembles source code is found as before: the word for a password in a password, a year among words, letters at random, a secret about a template.
func TestASecretThatResemblesSourceCodeIsFound(t *testing.T) {
	r := testRedactor(t)
	for _, c := range [][2]string{
		{`db_password=AdminPassword`, `AdminPassword`},
		{`password: MySecretPassword`, `MySecretPassword`},
		{`DB_PASSWORD=Summer2024Vacation`, `Summer2024Vacation`},
		{`client_secret=SunnyMondayMorning`, `SunnyMondayMorning`},
		{`api_key: google-4f9a1c7e2b8d6035`, `google-4f9a1c7e2b8d6035`},
		{`token = bKqzTwXvPfGhJmRcNsLd`, `bKqzTwXvPfGhJmRcNsLd`},
		{`token: Wq7Xk2Vb9Zt4Rm6Pj8Lh`, `Wq7Xk2Vb9Zt4Rm6Pj8Lh`},
		{"password = `hunter42${SUFFIX}`", `hunter42`},
		{`password=0x4f9a1c7e2b8d60354f9a1c7e2b8d6035`, `0x4f9a1c7e2b8d60354f9a1c7e2b8d6035`},
		{`MOLLIE=test_dHar4XY7LxsDOtmnkVtjNVWXLsxKqP`, `test_dHar4XY7LxsDOtmnkVtjNVWXLsxKqP`},
		{"enable password tigers\n", `tigers`},
		{`username ada privilege 15 password 7 094F471A1A0A and more`, `094F471A1A0A`},
		{`username and password Tr0ub4dor7x`, `Tr0ub4dor7x`},
		{`CREATE USER ada IDENTIFIED BY tiger;`, `tiger`},
		{`VAULT=s.Xk2Vb9Zt4Rm6Pj8LhWq7Yc3N`, `s.Xk2Vb9Zt4Rm6Pj8LhWq7Yc3N`},
		{`password = "abc[0-9]"`, `abc[0-9]`},
		{`password="pin:\"4711x\""`, `4711x`},
		{`//registry.example.com/:_password=c2VjcmV0c2VjcmV0`, `c2VjcmV0c2VjcmV0`},
	} {
		if out := r.String("content", c[0], nil); strings.Contains(out, c[1]) {
			t.Errorf("%q became %q", c[0], out)
		}
	}
}
