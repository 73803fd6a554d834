// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// benignTexts hold nothing that has to go, and much that looks like it: code and documents about credentials, ids, digests, versions, codes of goods.
const benignTexts = `
see § 6.4.5.3 of the standard
as section 10.2.3.4 says, and 3.1.4.1 repeats
chapter 12.1.1.1, clause 4.3.2.1
RFC 7231 section 6.5.4.2
HTTPBasicAuth(username, password)
requests.get(url, auth=HTTPBasicAuth(user, passwd))
getpass.getpass('Password: ')
password = input("Enter your password: ")
password: str = Field(..., min_length=8)
def login(username: str, password: str) -> Token:
if not password or len(password) < 12: raise ValueError("password too short")
The password must be at least 8 characters long and hold a digit.
Please reset your password by following the link in the mail.
api_key = os.environ["OPENAI_API_KEY"]
api_key: ${OPENAI_API_KEY}
OPENAI_API_KEY=<your key here>
export GITHUB_TOKEN=your_token_here
apiKey: process.env.API_KEY
token = AutoTokenizer.from_pretrained("bert-base-uncased")
const token = jwt.sign(payload, privateKey, { algorithm: "RS256" })
"password": {"type": "string", "format": "password"}
secretKeyRef: {name: db, key: password}
valueFrom: {secretKeyRef: {name: api-credentials, key: token}}
EAN 4006381333931 and GTIN 05012345678900
ISBN 978-3-16-148410-0, ISSN 0378-5955
UPC 036000291452 in stock
barcode: 4012345678901
order no. 2024-11-22-000417
invoice INV-2024-0012345
tracking 1Z999AA10123456784
parcel RR123456785DE left the depot
part no. 4711-0815-42
serial SN-20231101-7781
commit 3f2504e04f8911d39a0c0305e82c3301a1b2c3d4
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
etag "33a64df551425fcc55e4d42a148795d9f25f89d4"
md5sum d41d8cd98f00b204e9800998ecf8427e
request id 4bf92f3577b34da6a3ce929d0e0e4736
uuid 123e4567-e89b-12d3-a456-426614174000
claude-3-5-sonnet-20241022 answered in 2.31 s
gpt-4o-mini-2024-07-18 with 128000 tokens of context
max_tokens: 4096, temperature: 0.7, top_p: 0.95
prompt_tokens=1532 completion_tokens=211 total_tokens=1743
version 10.0.19045.3570 of Windows
Chrome/120.0.6099.109 Safari/537.36
Python 3.12.1 (main, Dec 8 2023, 05:40:51) [GCC 11.4.0]
nginx/1.24.0 on 127.0.0.1:8080
listening on 0.0.0.0:4317
subnet mask 255.255.255.0
pi is 3.14159265358979323846
unix time 1700000000 and 1700000000123
2026-01-02T03:04:05.678901234Z INFO started
lat 52.520008, lon 13.404954
the year 1984-2024, pages 123-456
population 83 200 000 (2024)
price 1.234.567,89 EUR
score 98.6 of 100.0
room 404, floor 12
phone support is open from 9 to 17
call the function with 3 arguments
dial tone detected on line 2
mobile devices: 48213
contact us through the form
e-mail addresses are validated with a regular expression
user@host is the form of a remote login
git@github.com:tapedeck/tapedeck.git
@types/node@20.10.0 and react@18.2.0
npm install left-pad@1.3.0
docker pull nginx@sha256:4c0fdaa8b6341bfdeca5f18f7837462c80cff90527ee35ef185571e1c327beac
s3://bucket/path/to/object.parquet
arn:aws:iam::123456789012:role/Reader
projects/my-project/locations/us-central1/keyRings/ring/cryptoKeys/key
/usr/share/keyrings/docker-archive-keyring.gpg
cache key users:42:profile:v3
primary key (id), foreign key (user_id)
the key to success is patience
key: value pairs, one per line
the secret of good soup is time
secret santa is on friday
a token of our appreciation
the token is invalid or expired
token_type: bearer
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Set-Cookie is a response header
cookies are used to keep you signed in
auth: none
auth_method: oauth2
login successful for user ada
login failed: wrong password
password incorrect
password reset requested
Password changed successfully
password: required
password: ********
passphrase for key '/home/ada/.ssh/id_ed25519':
the passport office is closed
pin the version to 1.2.3
pin: D13
code: 200
status code 404
zip code 10115
country code +49
postal code SW1A 1AA
error code E11000 duplicate key
promo code SPRING2024
color #ff8800, background #1e1e1e
MAC 00:1B:44:11:3A:B7
hash function murmur3 with seed 42
checksum 0x1A2B3C4D
regex ^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+$
base64 is an encoding, not encryption
aGVsbG8gd29ybGQsIHRoaXMgaXMgcGxhaW4gdGV4dA==
the quick brown fox jumps over the lazy dog
Lorem ipsum dolor sit amet, consectetur adipiscing elit
tax rate 19 %, tax id required on invoices
national id is optional
the social security office
insurance number is on the card
bank account closed
routing table updated, 172 entries
card layout with 3 columns
credit: photo by the author
my number one priority
id number is missing
sin(x) + cos(x) = 1.4142135623730951
nie wieder, sin embargo, nit picking
pan out, zoom in
tin foil and cut copper
session started, session_id=0a1b2c3d4e5f6071
trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7
thread-1234567890 finished
goroutine 4711 [running]
0x00007ff6a1b2c3d4 in ?? ()
at com.example.auth.TokenService.refresh(TokenService.java:142)
File "/app/auth/password.py", line 42, in verify
SELECT password_hash FROM users WHERE id = $1
INSERT INTO tokens (id, name) VALUES (?, ?)
CREATE TABLE api_keys (id bigint primary key, name text)
kubectl get secret db -o yaml
vault kv get secret/app
aws sts get-caller-identity
curl -u $USER:$PASS https://example.com
curl -H "Authorization: Bearer ${TOKEN}" https://example.com
mysql -u root -p
psql postgres://localhost:5432/app
redis://localhost:6379/0
https://example.com/?page_token=CAUQAA&page=2
https://example.com/reset-password?step=2
https://example.com/#access_token
gh secret set TOKEN
ssh -i ~/.ssh/id_rsa web1
openssl rand -base64 32
terraform plan -var-file=prod.tfvars
access_key_id is the public part
public_key: ssh-ed25519
ssh-ed25519 is a key type
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
MIT License, Copyright 2024
one-time codes expire after 30 seconds
two-factor authentication is enabled
keyboard layout changed to de
monkey patching is discouraged
turnkey solution
tokenizer.json has 50257 entries
bearer bonds
sk-learn and sk-image
test_user_creation_with_valid_email
live_streaming_enabled_for_channel
api-gateway-timeout-configuration
sdk-core-utilities-2024
re_compile_pattern_cache
pub-sub-messaging-system
access-control-allow-origin
key_value_store_migration_job
secret-management-best-practices
`
