// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"fmt"
	"maps"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// Name is what the name of a value says about it.
type Name struct {
	facts
	// text is the name itself, if keyCache knows it.
	text string
	// clean is set when the name has been searched and holds nothing.
	clean atomic.Bool
	// ids are the forms of identity numbers that the name announces.
	ids []int
	// token: one of its words is token. An event of this name is a piece of a stream.
	token bool
	// summed are the sums of the facts, as far as they were asked for.
	summed atomic.Pointer[[2]uint64]
	// short are the sums of short values in which nothing was found, see shortKey. Another value takes the place of one that was there before.
	short [shortValues][2]atomic.Uint64
}

// facts are what decides, but for ids, about a value under a name.
type facts struct {
	// secret: the value is a credential whatever it looks like (password). credential: it is one if it looks random (token).
	secret, credential bool
	// digest: the name may as well be that of a digest (key), which is no credential.
	digest bool
	// pass: the name is short for password, or says how a test went. phrase: it is that of a passphrase.
	pass, phrase bool
	// url: a secret in the query of a URL, where shorter words are used (sig, key).
	url bool
	// protocol: an id, a digest or a signature; guesses do not apply.
	protocol bool
	// grouping: an id that runs are grouped by. Hits are tokenised in every mode.
	grouping bool
	// service: the name of a service whose secrets are recognised by that name beside them.
	service bool
	// delta: the name of a piece of a stream, or of a list of them. prose: the name of a text, which can be one. speaker: the name of who says it.
	delta, prose, speaker bool
	// row: the name of a text that rows have too. told: what it says of the object that it stands in.
	row  bool
	told told
	// version: dotted numbers are no addresses.
	version bool
	hint    hint
	// jwk: the name of a private member of a JSON Web Key. code: of a number that somebody types.
	jwk, code bool
	// setting: of several words, none of which says that the value is data, an id or public.
	setting bool
	// holder: of an object whose members are credentials: {"github-oauth": {"github.com": …}}.
	holder bool
	// member: that of an object which is called a credential.
	member bool
	// listed: it stands behind its name in a list of arguments.
	listed bool
	idList string // ids, to compare them
}

// ofValue is what a name says of its own value: the name of a speaker, or of an id, says something of the
// values beside it.
func (k *Name) ofValue() facts {
	f := k.facts
	f.speaker, f.row, f.told = false, false, toldNothing
	return f
}

// silent says that a name tells nothing about its value, or only that it may be a setting.
func (k *Name) silent() bool {
	f := k.ofValue()
	f.setting = false
	return f == facts{} && len(k.ids) == 0
}

// names says whether a name tells what its value is: a credential, or personal data.
func (k *Name) names() bool { return k.secret || k.credential || len(k.ids) > 0 || k.hint != 0 }

// hint is personal data that a name announces.
type hint uint8

const (
	hintPhone hint = 1 << iota
	hintCard
	hintNational
)

// looks says whether a value under the name of a credential looks like one.
func (k *Name) looks(v string) bool {
	if k.jwk {
		return len(v) >= 40 && random(v) && isURLSafe(v)
	}
	if k.member {
		return keylike(v) || invented(v) || k.listed && (hexDigest(v) || len(v) >= 16 && random(v))
	}
	return random(v) || k.pass && passwordLike(v) || !k.digest && hexDigest(v)
}

// secretWords are the names of values that are secret whatever they look like, as words; several words are a sequence.
var secretWords = [][]string{
	{"password"}, {"passwd"}, {"passwort"}, {"passphrase"}, {"pwd"}, {"pword"}, {"passcode"}, {"userpass"}, {"dbpass"}, {"pgpassword"},
	{"secret"}, {"secrets"}, {"apikey"}, {"api", "key"}, {"apisecret"}, {"apitoken"}, {"api", "token"},
	{"credential"}, {"credentials"}, {"creds"}, {"authorization"}, {"cookie"}, {"cookies"}, {"set", "cookie"},
	{"private", "key"}, {"privatekey"}, {"secret", "key"}, {"secretkey"}, {"access", "key"}, {"accesskey"},
	{"encryption", "key"}, {"signing", "key"}, {"master", "key"}, {"service", "key"}, {"account", "key"}, {"storage", "key"},
	{"shared", "key"}, {"subscription", "key"}, {"license", "key"}, {"auth", "key"}, {"authkey"},
	{"access", "token"}, {"accesstoken"}, {"refresh", "token"}, {"refreshtoken"}, {"auth", "token"}, {"authtoken"}, {"bearer", "token"},
	{"id", "token"}, {"session", "token"}, {"security", "token"}, {"bot", "token"}, {"personal", "token"}, {"deploy", "token"},
	{"client", "secret"}, {"clientsecret"}, {"jwt"}, {"mnemonic"}, {"seed", "phrase"}, {"recovery", "code"}, {"backup", "codes"},
	{"db", "pass"}, {"user", "pass"}, {"smtp", "pass"}, {"mail", "pass"}, {"admin", "pass"}, {"root", "pass"}, {"otp"}, {"totp"}, {"pin", "code"}, {"pin"}, {"pw"}, {"pass", "word"}, {"passkey"}, {"psk"},
	{"verification", "code"}, {"mfa", "code"}, {"2", "fa", "code"}, {"tfa", "code"}, {"otp", "code"}, {"totp", "code"}, {"login", "code"}, {"sms", "code"}, {"two", "factor", "code"}, {"security", "code"}, {"recovery", "codes"}, {"backup", "code"}, {"one", "time", "code"}, {"app", "password"}, {"secret", "key", "base"},
	{"secret", "value"}, {"application", "key"}, {"app", "key"}, {"consumer", "key"}, {"deploy", "key"}, {"signing", "secret"}, {"hec", "token"}, {"ssh", "key"}, {"auth", "secret"}, {"webhook", "secret"}, {"connection", "string"}, {"cvv"}, {"cvc"}, {"csrf", "token"}, {"xsrf", "token"},
	{"hmac", "key"}, {"aes", "key"}, {"crypto", "key"}, {"cipher", "key"}, {"session", "key"}, {"server", "key"}, {"default", "pass"}, {"become", "pass"}, {"bind", "pw"}, {"store", "pass"},
	{"key", "pass"}, {"ssh", "pass"}, {"sudo", "pass"}, {"record", "key"}, {"user", "seed"}, {"secret", "seed"}, {"client", "key", "data"}, {"xprv"}, {"wif"},
	{"ingestion", "key"}, {"access", "code"}, {"macaroon"}, {"mdp"}, {"client", "assertion"}, {"code", "verifier"},
	{"signing", "salt"}, {"encryption", "salt"}, {"crypt", "salt"}, {"auth", "salt"}, {"requirepass"}, {"sshpass"}, {"rootpass"}, {"mailpass"}, {"ftppass"}, {"redispass"}, {"mysqlpass"}, {"adminpass"}, {"authpass"}, {"masterauth"}, {"bindpw"}, {"rootpw"}, {"bindpasswd"}, {"authtok"},
}

// credentialWords are the names of values that are credentials when they look random.
var credentialWords = [][]string{
	{"token"}, {"tokens"}, {"key"}, {"keys"}, {"auth"}, {"access"}, {"bearer"}, {"salt"}, {"pass"}, {"code"}, {"pat"}, {"jwk"}, {"certificate"}, {"write", "key"}, {"session"}, {"webhook"}, {"dsn"}, {"sas"}, {"login"}, {"x", "sig"}, {"sid"}, {"http", "token"}, {"seed"}, {"private"},
	{"product", "key"}, {"agent", "key"}, {"project", "key"}, {"claim"}, {"pepper"}, {"signing"}, {"encryption"}, {"grant"}, {"secret", "id"}, {"sk"}, {"psk"}, {"hook"},
	{"license"}, {"licence"}, {"activation"}, {"oauth"}, {"oauth2"}, {"unlock"}, {"enrollment"}, {"provisioning"}, {"pairing"}, {"passkey"}, {"keyfile"}, {"mfa"}, {"puk"}, {"kek"}, {"dek"}, {"hmac"}, {"signer"}, {"vault"}, {"uat"}, {"samlart"}, {"sam", "lart"}, {"saml", "art"}, {"saml", "response"}, {"samlresponse"}, {"honeycomb", "team"}, {"routing", "key"},
}

// urlWords are further names of secrets in the query of a URL.
var urlWords = [][]string{
	{"sig"}, {"signature"}, {"key"}, {"token"}, {"auth"}, {"code"}, {"sid"}, {"ticket"}, {"assertion"}, {"hmac"},
}

// quantities are words that make something else of a credential word behind them: max tokens, primary key, next page token.
var quantities = wordSet(`max min num number total input output completion prompt cached reasoning thinking public primary foreign
	partition sort cache idempotency next page continuation sync stop eos bos pad unk special vocab has needs uses is error status
	response http exit return zip postal country language currency source object lookup map hot per row cell dict json yaml sort index
	routing correlation dedup crew task agent filter node step tool entity state event message group area region reason result promo coupon airport product item`)

// weakQuantities are those of quantities that also stand before credentials (source token, agent key): a value counts that looks random and like no digest.
var weakQuantities = wordSet("source agent project product group region event item entity task tool object area")

// openWords stand in names of values that may look random and are no secrets.
var openWords = wordSet(`image img cert certificate data tag version url uri path file blob icon thumbnail avatar photo audio video media page next previous cursor continuation encrypted cipher ciphertext
	thought thinking reasoning trace span call tool request response message thread run session event item state snapshot integrity etag object bucket doc document sheet folder drive channel playlist video
	public pub node address wallet contract tx txn block transaction model embedding vector build commit ref source target parent child test sample example name title label query sql code`)

var authParts = []string{"auth", "token", "secret"}

// passWords name a secret whatever stands before them.
var passWords = wordSet("password passwd passwort passphrase pword pwd pw secret")

// dataWords stand before keys that are those of data, and often digests.
var dataWords = wordSet(`content chunk file image doc document block layer blob data record row column field path url bucket artifact version model dataset table index shard trace span
	job request query hash etag store feature config prompt embedding node user team tenant order fetch build run memo lock state compound composite natural surrogate unique query
	message part slot entry topic stream queue event object item x subject authority`)

// publicWords make something else of a name of several words: public api key, max access tokens.
var publicWords = wordSet("max min num number total public primary has needs uses is error status response next page count")

var jwkMembers = wordSet("d p q dp dq qi")

func isURLSafe(v string) bool {
	for i := range len(v) {
		if !isBase64(v[i]) {
			return false
		}
	}
	return true
}

// Words of names that say how a string belongs to others.
var (
	deltaWords   = wordSet("delta deltas chunk chunks tokens stream streamed streaming partial pieces fragment fragments")
	proseWords   = wordSet("content text message output completion arguments input response body data value thinking reasoning line lines parts segments answer")
	rowWords     = wordSet("input body data value line lines parts segments")
	speakerWords = wordSet("role author from to user sender title name url email")
)

// neutral words behind a credential word do not change what it names.
var neutral = wordSet("confirm confirmation confirmed repeat again input field value string text plain plaintext hash raw data current old new prod production dev test staging live base64 b64 header env")

// protocolLast are the last words of names of ids and digests.
var protocolLast = wordSet(`id ids uuid guid ulid digest sha sha1 sha256 sha512 md5 checksum hash fingerprint etag traceparent tracestate
	signature revision commit oid cid nonce cursor seq sequence timestamp nanos`)

var groupingWords = [][]string{
	{"session"}, {"conversation"}, {"thread"}, {"user"}, {"enduser"}, {"customer"}, {"account"}, {"chat"}, {"channel"}, {"context"},
}

var hints = map[string]hint{
	"phone": hintPhone, "phones": hintPhone, "telephone": hintPhone, "tel": hintPhone, "mobile": hintPhone, "cell": hintPhone,
	"cellphone": hintPhone, "fax": hintPhone, "msisdn": hintPhone, "whatsapp": hintPhone, "telefon": hintPhone, "sms": hintPhone,
	"phonenumber": hintPhone, "mobil": hintPhone, "mobiel": hintPhone, "m\u00f3vil": hintPhone, "movil": hintPhone, "celular": hintPhone, "cellulare": hintPhone, "handy": hintPhone,
	"gsm": hintPhone, "puhelin": hintPhone, "telefoon": hintPhone, "telepon": hintPhone, "telefone": hintPhone, "telefono": hintPhone, "tel\u00e9fono": hintPhone, "t\u00e9l\u00e9phone": hintPhone,
	"telefonnummer": hintPhone, "\u0442\u0435\u043b\u0435\u0444\u043e\u043d": hintPhone, "\u7535\u8bdd": hintPhone, "\u96fb\u8a71": hintPhone, "\uc804\ud654\ubc88\ud638": hintPhone, "\u05d8\u05dc\u05e4\u05d5\u05df": hintPhone,
	"telem\u00f3vel": hintPhone, "telemovel": hintPhone, "natel": hintPhone, "tlf": hintPhone, "mobilsz\u00e1m": hintPhone, "telefonsz\u00e1m": hintPhone, "puhelinnumero": hintPhone, "matkapuhelin": hintPhone, "k\u00e4nnykk\u00e4": hintPhone, "mobilnr": hintPhone, "mobiltelefon": hintPhone, "mobiln\u00ed": hintPhone, "\u03ba\u03b9\u03bd\u03b7\u03c4\u03cc": hintPhone, "\u043c\u043e\u0431\u0456\u043b\u044c\u043d\u0438\u0439": hintPhone, "\u043c\u043e\u0431\u0438\u043b\u044c\u043d\u044b\u0439": hintPhone, "\u0441\u043e\u0442\u043e\u0432\u044b\u0439": hintPhone, "\ud734\ub300\ud3f0": hintPhone, "\ud734\ub300\uc804\ud654": hintPhone, "\u643a\u5e2f\u756a\u53f7": hintPhone, "\u624b\u6a5f": hintPhone, "\u96fb\u8a71\u756a\u53f7": hintPhone, "\u0627\u0644\u062c\u0648\u0627\u0644": hintPhone, "\u0627\u0644\u0647\u0627\u062a\u0641": hintPhone, "\u092b\u093c\u094b\u0928": hintPhone, "\u092e\u094b\u092c\u093e\u0907\u0932": hintPhone, "\u092b\u094b\u0928": hintPhone, "\u0e40\u0e1a\u0e2d\u0e23\u0e4c": hintPhone, "handphone": hintPhone,
	"card": hintCard, "pan": hintCard, "cc": hintCard, "creditcard": hintCard, "cardnumber": hintCard,
	"ssn": hintNational, "sin": hintNational, "nino": hintNational, "nif": hintNational, "nie": hintNational, "dni": hintNational,
	"pesel": hintNational, "bsn": hintNational, "tin": hintNational, "itin": hintNational, "tfn": hintNational, "nhs": hintNational,
	"aadhaar": hintNational, "aadhar": hintNational, "cpf": hintNational, "cnpj": hintNational, "passport": hintNational, "steuer": hintNational,
	"taxid": hintNational, "insee": hintNational, "nir": hintNational, "personnummer": hintNational, "license": hintNational, "licence": hintNational,
	"routing": hintNational,
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// keyCache remembers names: they repeat with every span. It is bounded, because senders choose them. Those that are settled are read without a lock.
type keyCache struct {
	// recent are the names that were asked for last, each at its place.
	recent  [512]atomic.Pointer[Name]
	settled atomic.Pointer[map[string]*Name]
	sync.Mutex
	fresh  map[string]*Name // those that came since
	misses int              // how often a name was not among the settled ones since
}

const (
	maxCachedKeys = 8192
	maxKeyBytes   = 256
)

func (c *keyCache) get(name string, classify func(string) *Name) *Name {
	if len(name) > maxKeyBytes {
		return classify(name)
	}
	recent := &c.recent[placeOf(name)%uint64(len(c.recent))]
	if k := recent.Load(); k != nil && k.text == name {
		return k
	}
	if names := c.settled.Load(); names != nil {
		if k := (*names)[name]; k != nil {
			recent.Store(k)
			return k
		}
	}
	c.Lock()
	defer c.Unlock()
	k := c.fresh[name]
	if k == nil {
		if c.fresh == nil {
			c.fresh = map[string]*Name{}
		}
		name = strings.Clone(name) // also of what classify keeps of it
		k = classify(name)
		k.text = name
		c.fresh[name] = k
	}
	c.settle()
	return k
}

// placeOf makes a number of a text. What has the same place is compared, so three words of it are enough.
func placeOf(s string) uint64 {
	const prime = 0x9e3779b97f4a7c15
	sum := uint64(len(s))
	if len(s) < 8 {
		for i := range len(s) {
			sum = sum<<8 | uint64(s[i])
		}
		return sum * prime >> 32
	}
	for _, at := range [...]int{0, (len(s) - 8) / 2, len(s) - 8} {
		sum = bits.RotateLeft64((sum^load(s, at))*prime, 29)
	}
	return sum * prime >> 32
}

// settle counts a miss. When they are so many that a copy of all names is worth it, it makes one.
func (c *keyCache) settle() {
	settled := map[string]*Name{}
	if names := c.settled.Load(); names != nil {
		settled = *names
	}
	if c.misses++; c.misses <= len(settled)/2 {
		return
	}
	if len(settled)+len(c.fresh) > maxCachedKeys {
		settled = nil
	}
	all := make(map[string]*Name, len(settled)+len(c.fresh))
	maps.Copy(all, settled)
	maps.Copy(all, c.fresh)
	c.settled.Store(&all)
	c.fresh, c.misses = nil, 0
}

// ProtocolName is the name of a field whose value is an id or a version.
func ProtocolName(version bool) *Name { return &Name{facts: facts{protocol: true, version: version}} }

// classifyKey reads a name by its words.
func classifyKey(name string) *Name {
	if len(name) > maxKeyBytes {
		name = name[len(name)-maxKeyBytes:]
	}
	words := splitWords(name)
	k := &Name{}
	if len(words) == 0 {
		return k
	}
	last := lastWord(words)
	k.readIdentifier(words, last)
	k.readText(words, last)
	k.jwk, k.setting = jwkMembers[name], isSettingName(words)
	for len(words) > 1 && neutral[words[len(words)-1]] {
		words = words[:len(words)-1]
	}
	k.readCredential(name, words, last)
	if n := len(words); n > 1 && last == "signature" && signers[words[n-2]] { // x-amz-signature
		k.secret, k.protocol = true, false
	}
	k.holder = k.secret || k.credential && containsPart(name, authParts)
	return k
}

// lastWord returns the last word of a name, with the number behind it where both are a digest: sha256, id_2.
func lastWord(words []string) string {
	n := len(words)
	last := words[n-1]
	if n == 1 || !isNumber(last) {
		return last
	}
	if numbered := words[n-2] + last; protocolLast[numbered] {
		return numbered
	}
	return words[n-2]
}

// readIdentifier notes whether a name is that of an id or of personal data.
func (k *Name) readIdentifier(words []string, last string) {
	before := ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	k.protocol = protocolLast[last] || last == "key" && (before == "idempotency" || before == "run")
	if last == "id" || last == "ids" || last == "name" || last == "key" {
		k.grouping = before != "" && anySequence(words[len(words)-2:len(words)-1], groupingWords)
	}
	for _, w := range words {
		k.hint |= hints[w]
	}
	if k.ids = idNames(words); len(k.ids) > 0 {
		k.idList = fmt.Sprint(k.ids)
	}
	if (k.hint&hintNational != 0 || len(k.ids) > 0) && (last == "id" || last == "number") {
		k.protocol = false
	}
}

// readText notes whether a name is that of a text, of a piece of one, of its speaker, of a code or a version.
func (k *Name) readText(words []string, last string) {
	for _, w := range words {
		k.delta = k.delta || deltaWords[w]
	}
	switch last {
	case "code", "codes", "pin", "otp", "passcode":
		k.code = true
	case "version", "versions":
		k.version = true
	}
	k.speaker = len(words) == 1 && speakerWords[last] || len(words) == 2 && words[0] == "tool" && last == "name"
	k.prose, k.row, k.told = proseWords[last], rowWords[last], toldBy(words)
}

// isSettingName says whether a name has two words or more, none of which says that the value is data, an id
// or public.
func isSettingName(words []string) bool {
	plain := 0 // a name that is an id has no such words
	for _, w := range words {
		if openWords[w] || protocolLast[w] || proseWords[w] || publicWords[w] || deltaWords[w] {
			return false
		}
		if len(w) > 1 && !hasDigit(w) {
			plain++
		}
	}
	return plain >= 2
}

// readCredential notes whether a name is that of a secret or of a credential. words are those of the name
// without the neutral ones at its end.
func (k *Name) readCredential(name string, words []string, last string) {
	k.url = anySequence(words, urlWords)
	k.credential = k.jwk
	if n := tail(words, secretWords); n > 0 {
		before := words[:len(words)-n]
		k.secret = !quantity(before) || (n > 1 || passWords[last]) && !publicWords[before[len(before)-1]] // NODE_AUTH_TOKEN, http-password
		k.phrase = last == "passphrase" || last == "phrase"
	} else if n := tail(words, credentialWords); n > 0 {
		k.readCredentialWord(name, words, n, last)
	}
	if !k.secret && !k.credential {
		k.secret, k.credential = compound(words[len(words)-1])
	}
}

// readCredentialWord is readCredential for a name whose last n words are those of a credential.
func (k *Name) readCredentialWord(name string, words []string, n int, last string) {
	of := "" // the word before
	if len(words) > n {
		of = words[len(words)-n-1]
	}
	env := envStyle(name)
	k.credential = !quantities[of] || env && !publicWords[of] && last == "key"
	weak := !k.credential && weakQuantities[of]
	k.credential = k.credential || weak
	k.pass = last == "pass"
	k.secret = k.pass && k.credential && len(words) > 1 && env // SMTP_PASS
	switch last {
	case "key":
		k.digest = !env && !keyOfNothingElse(words, n, of, weak)
	case "keys", "sk", "code", "sid", "session":
		k.digest = !env
	}
	k.digest = k.digest || weak
}

// keyOfNothingElse says whether a name that ends with "key" is that of no digest: crypt_key, write_key.
func keyOfNothingElse(words []string, n int, of string, weak bool) bool {
	if n > 1 {
		before := words[len(words)-2]
		return before == "write" || before == "routing"
	}
	return of != "" && !weak && !dataWords[of]
}

// signers are the words before the signature of a request in the names of its headers and fields.
var signers = wordSet("amz goog oss hub slack stripe twilio shopify cos obs bce")

// compound reads a name that is written as one word, as German and many programs do: zugriffstoken, identitytoken, rootpassword.
func compound(word string) (secret, credential bool) {
	for _, end := range [...]string{"password", "passwort", "passwd", "kennwort", "passphrase"} {
		if len(word) > len(end) && strings.HasSuffix(word, end) {
			return true, false
		}
	}
	for _, end := range [...]string{"token", "secret", "apikey", "secretkey", "accesskey", "privatekey", "authkey"} {
		if before, ok := strings.CutSuffix(word, end); ok && len(before) > 1 && !quantities[before] {
			return false, true
		}
	}
	return false, false
}

// envStyle holds for names of environment variables: DATADOG_API_KEY.
func envStyle(name string) bool {
	return strings.IndexByte(name, '_') > 0 && upperName(name)
}

// quantity says whether the words before a credential word make it something else: max tokens, primary key, page token.
func quantity(before []string) bool {
	return len(before) > 0 && quantities[before[len(before)-1]]
}

// tail returns how many words of the longest sequence the name ends with.
func tail(words []string, sequences [][]string) (n int) {
	// X_API_KEY_2, password1: a number behind a name counts its values.
	if len(words) > 1 && isNumber(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	for _, seq := range sequences {
		if len(seq) > n && len(seq) <= len(words) && equalWords(words[len(words)-len(seq):], seq) {
			n = len(seq)
		}
	}
	return n
}

func anySequence(words []string, sequences [][]string) bool {
	return tail(words, sequences) > 0
}

func equalWords(a, b []string) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func isNumber(w string) bool {
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return false
		}
	}
	return w != ""
}

// splitWords cuts a name at everything that is no letter or digit, and between a lower-case and an upper-case letter. It also cuts
// before the last upper-case letter of an abbreviation (APIKey), before digits at the end and behind digits at the start. The words
// are in lower case.
func splitWords(name string) (words []string) {
	name = splitRunes(name)
	start := 0
	flush := func(end int) {
		if start < end {
			words = append(words, strings.ToLower(name[start:end]))
		}
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case !isAlnum(c):
			flush(i)
			start = i + 1
		case isUpper(c) && i > start && (isLower(name[i-1]) || isDigit(name[i-1])),
			isUpper(c) && i > start && i+1 < len(name) && isLower(name[i+1]) && isUpper(name[i-1]),
			isDigit(c) && i > start && !isDigit(name[i-1]) && isNumber(name[i:]),
			isAlpha(c) && i > start && isNumber(name[start:i]):
			flush(i)
			start = i
		}
	}
	flush(len(name))
	return words
}

// splitRunes puts a space between a lower-case and an upper-case letter of which one is no ASCII.
func splitRunes(name string) string {
	var last rune
	for i, r := range name {
		if last|r >= utf8.RuneSelf && unicode.IsLower(last) && unicode.IsUpper(r) {
			return name[:i] + " " + splitRunes(name[i:])
		}
		last = r
	}
	return name
}

func isAlnum(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) || c >= 0x80 }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
