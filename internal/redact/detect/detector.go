// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// Version names the code of this package as far as it decides what is found and replaced. It is raised with every change that does.
const Version = "tapedeck-redact/15"

// Options say what is searched for and what stands in its place.
type Options struct {
	Enabled    func(Rule) bool // which built-in rules apply; nil: all
	Rules      []UserRule      // besides the built-in ones
	SecretKeys []string        // further names whose values are secret: their words are the last ones of a name
	Allow      Allow           // what no rule may touch
	// Replace returns what stands for a value. identity: the value names somebody, or is a key, so that equal values must stay equal.
	Replace func(rule, value string, identity bool) string
}

// Detector finds what the rules of its options find. It is safe for concurrent use.
type Detector struct {
	replacement func(rule, value string, identity bool) string
	rules       []*rule // by ruleID
	byName      map[string]ruleID
	*lookup
	on    switches
	sure  switches // without the rules that guess
	guess bool     // one of the rules guesses
	user  []*userRule
	allow allowList
	keys  keyCache
	// secretKeys are the words of the names that the options add.
	secretKeys [][]string
	clean      *cleanTable // nil: nothing is remembered
	trusted    func() *Detector
	work       *atomic.Int64 // of tests: the bytes that were looked at
}

// lookup is what texts are looked through for. It belongs to all detectors of the process that have the same rules, and nothing changes it.
type lookup struct {
	words    vocabulary
	foreign  vocabulary // words with letters that are no ASCII
	heads    map[string][]action
	services *keywords // names of services, for keys
}

// lookups are those of this process, by the names of their rules. Detectors with rules of their users are not among them: a process has few
// profiles without.
var lookups sync.Map // string → *lookup

// vocabulary are words with what they set off.
type vocabulary struct {
	*keywords
	list    []string
	ids     map[string]int
	actions [][]action // by id of a word
}

func (v *vocabulary) hang(word string, a action) {
	id, ok := v.ids[word]
	if !ok {
		if v.ids == nil {
			v.ids = map[string]int{}
		}
		id = len(v.list)
		v.ids[word] = id
		v.list = append(v.list, word)
		v.actions = append(v.actions, nil)
	}
	v.actions[id] = append(v.actions[id], a)
}

// index makes the words ready to be looked for.
func (v *vocabulary) index() {
	v.keywords = newKeywords(v.list)
	v.list, v.ids = nil, nil
}

// action is what a word sets off.
type action struct {
	kind actionKind
	rule ruleID                                  // of actRule
	word int                                     // length of the word; of actAssignment, what stands before the name; of actLabel, what it was before it was lengthened; of actRule, its place among those of the rule
	key  bool                                    // of actPassword: a word for a key
	ids  []int                                   // of actLabel: the forms that the label announces
	seek func(f *finder, id ruleID, at, end int) // of actSeek
}

type actionKind uint8

const (
	actRule actionKind = iota
	actAssignment
	actURL
	actPassword
	actLabel
	actOption
	actCall
	actNear
	actBlock
	actSeek
)

// switches say which detectors that are code run, and as which rule they report.
type switches struct {
	card, phone, national, iban, ip bool
	rules                           struct {
		email, card, phone, ssn, national, iban, ip               ruleID
		url, assignment, secretKey, entropy, encoded              ruleID
		twilio, vault, telegram, awsSecret, azureSecret, anywhere ruleID
		form, table, link, plan                                   ruleID
	}
}

// NoName is the name of a value that has none.
var NoName = &Name{}

// New prepares the rules of the options.
func New(o Options) (*Detector, error) {
	r := &Detector{replacement: o.Replace, byName: map[string]ruleID{}}
	for _, name := range o.SecretKeys {
		if words := splitWords(name); len(words) > 0 {
			r.secretKeys = append(r.secretKeys, words)
		}
	}
	if err := r.allow.compile(o.Allow); err != nil {
		return nil, err
	}
	for _, rl := range builtin() {
		if o.Enabled == nil || o.Enabled(rl.Rule) {
			r.addRule(rl)
		}
	}
	for i := range o.Rules {
		u, err := compileUserRule(&o.Rules[i])
		if err != nil {
			return nil, fmt.Errorf("rule %d (%s): %w", i+1, o.Rules[i].Name, err)
		}
		if _, taken := r.byName[u.Name]; taken {
			return nil, fmt.Errorf("rule %d: the name %q is that of another rule", i+1, u.Name)
		}
		u.id = r.addRule(&rule{Rule: Rule{Name: u.Name, Class: Known, Section: "user"}})
		r.user = append(r.user, u)
	}
	r.Remember(true)
	r.connect()
	return r, nil
}

func (r *Detector) addRule(rl *rule) ruleID {
	id := ruleID(len(r.rules))
	r.rules = append(r.rules, rl)
	r.byName[rl.Name] = id
	return id
}

// connect finds out what the rules switch on, and takes the lookup of the same rules, if there is one.
func (r *Detector) connect() {
	id := func(name string) ruleID {
		if at, ok := r.byName[name]; ok {
			return at
		}
		return none
	}
	on := &r.on.rules
	on.email, on.card, on.phone, on.ssn = id("email"), id("payment-card"), id("phone"), id("us-ssn")
	on.national, on.iban, on.ip = id("national-id"), id("iban"), id("ip-address")
	on.url, on.assignment, on.secretKey, on.entropy = id(ruleURL), id(RuleAssignment), id(RuleSecretKey), id(ruleEntropy)
	on.encoded, on.twilio, on.vault, on.telegram = id(ruleEncoded), id("twilio-key"), id("vault-token"), id("telegram-token")
	on.awsSecret, on.azureSecret = id("aws-secret-key"), id("azure-client-secret")
	on.anywhere = id(RuleAnywhere)
	on.form, on.table, on.link, on.plan = id("form-field"), id("table-column"), id("link-token"), id("plan-secret")
	r.on.card, r.on.phone, r.on.iban, r.on.ip = on.card != none, on.phone != none, on.iban != none, on.ip != none
	r.on.national = on.national != none || on.ssn != none

	r.guess = slices.ContainsFunc(r.rules, func(rl *rule) bool { return rl.Class == Guess })
	r.sure = r.on
	for _, id := range []*ruleID{&r.sure.rules.phone, &r.sure.rules.entropy, &r.sure.rules.awsSecret, &r.sure.rules.anywhere, &r.sure.rules.link} {
		*id = none
	}
	r.sure.phone = false

	if len(r.user) > 0 {
		r.lookup = r.newLookup()
		return
	}
	var key strings.Builder
	for _, rl := range r.rules {
		key.WriteString(rl.Name + "\n")
	}
	known, ok := lookups.Load(key.String())
	if !ok {
		known, _ = lookups.LoadOrStore(key.String(), r.newLookup())
	}
	r.lookup = known.(*lookup)
}

// newLookup hangs every rule on its words.
func (r *Detector) newLookup() *lookup {
	l, on := &lookup{}, &r.on.rules
	for id, rl := range r.rules {
		l.hangRule(ruleID(id), rl)
	}
	if on.assignment != none || on.entropy != none {
		l.hangNames()
	}
	if on.entropy != none {
		l.hangGuesses()
	}
	if on.assignment != none {
		l.hangPasswords()
	}
	if on.national != none {
		l.hangLabels()
	}
	l.hangSeekers(r.rules)
	if on.url != none {
		for _, w := range lengthened("://", "abcdefghijklmnopqrstuvwxyz0123456789%[_-$:{.") {
			l.hang(w, action{kind: actURL})
		}
	}
	l.words.index()
	l.foreign.index()
	l.services = newKeywords(servicesOf(r.rules))
	return l
}

// hang hangs an action on a word.
func (l *lookup) hang(word string, a action) {
	if isASCII(word) {
		l.words.hang(word, a)
	} else {
		l.foreign.hang(word, a)
	}
}

// hangUpper hangs an action on the capitals of a word, where they are other bytes to the search.
func (l *lookup) hangUpper(word string, a action) {
	if upper := accentsUpper(word); upper != word {
		a.word = len(upper)
		l.hang(upper, a)
	}
}

// hangRule hangs a rule on its keywords and on the begins of its values.
func (l *lookup) hangRule(id ruleID, rl *rule) {
	for i, head := range rl.heads {
		if l.heads == nil {
			l.heads = map[string][]action{}
		}
		l.heads[head[:2]] = append(l.heads[head[:2]], action{kind: actRule, rule: id, word: len(rl.keywords) + i})
	}
	for i, k := range rl.keywords {
		for _, w := range lengthened(k, "abcdefghijklmnopqrstuvwxyz0123456789-_.") {
			l.hang(w, action{kind: actRule, rule: id, word: i})
		}
	}
}

// hangNames hangs assignments on the words that stand in the names of credentials.
func (l *lookup) hangNames() {
	for _, w := range assignmentWords {
		l.hang(w, action{kind: actAssignment})
	}
	// Use … as the api key.
	for _, w := range [...]string{"api key.", "secret key.", "access key.", "private key."} {
		l.hang(w, action{kind: actAssignment, word: strings.IndexByte(w, ' ') + 1})
	}
	// A name of two letters is no keyword by itself: cronPw, stats pw.
	for _, w := range [...]string{"pw\":", "pw\\\"", "pw**", ".pw=", ".pw:", "-pw=", "-pw:", " pw `", " pw**"} {
		l.hang(w, action{kind: actAssignment, word: strings.IndexByte(w, 'p')})
	}
	for _, before := range " ,(;&?\"\n`" {
		for _, next := range "=:\" " {
			l.hang(string(before)+"pw"+string(next), action{kind: actAssignment, word: 1})
		}
	}
	l.hang("<pw>", action{kind: actAssignment, word: 1})
}

// hangGuesses hangs the detectors that guess on options, calls, and words for accounts and keys.
func (l *lookup) hangGuesses() {
	for _, w := range shortOptions {
		l.hang(w, action{kind: actOption})
	}
	for _, w := range calls {
		l.hang(w, action{kind: actCall})
	}
	for _, w := range accountWords {
		l.hang(strings.ReplaceAll(w, "~", " "), action{kind: actNear})
	}
	for _, w := range keyWords {
		for _, spelled := range lengthened(w, " :=\xef") {
			l.hang(spelled, action{kind: actPassword, word: len(w), key: true})
		}
	}
}

// hangPasswords hangs the detectors of passwords on the blocks of YAML that hold secrets, and on the words
// for a password in other languages than English.
func (l *lookup) hangPasswords() {
	for _, w := range blocks {
		l.hang(w, action{kind: actBlock, word: len(w)})
	}
	for _, next := range " :=" { // mot de passe, in short
		l.hang("mdp"+string(next), action{kind: actPassword, word: len("mdp")})
		l.hang("p/w"+string(next), action{kind: actPassword, word: len("p/w")})
	}
	for _, w := range passwordWords {
		l.hang(w, action{kind: actPassword, word: len(w)})
		l.hangUpper(w, action{kind: actPassword})
	}
}

// hangLabels hangs the forms of identity numbers on their labels, in the spellings of prose and of names.
func (l *lookup) hangLabels() {
	for label, forms := range idLabels {
		for _, joint := range []string{" ", "_", "-", ""} {
			spelled := strings.ReplaceAll(label, " ", joint)
			// rsa id: too frequent as a part of other words.
			if joint == "" && strings.HasSuffix(label, " id") && len(label) < len("civil id") {
				continue
			}
			if camel := camelOf(label); joint == "" && camel != spelled {
				l.hang(camel, action{kind: actLabel, word: len(camel), ids: forms})
			}
			l.hangUpper(spelled, action{kind: actLabel, ids: forms})
			for _, w := range lengthened(spelled, " :=\"'#_-*>(") {
				l.hang(w, action{kind: actLabel, word: len(spelled), ids: forms})
			}
			if spelled == label && joint != " " {
				break
			}
		}
	}
}

// hangSeekers hangs the detectors that are listed with their words on them, as far as a rule reports them.
func (l *lookup) hangSeekers(rules []*rule) {
	for _, seek := range seekers() {
		name := cmp.Or(seek.by, seek.rule)
		id := slices.IndexFunc(rules, func(rl *rule) bool { return rl.Name == name })
		if id < 0 {
			continue
		}
		for _, w := range seek.words {
			w = strings.ReplaceAll(w, "~", " ")
			a := action{kind: actSeek, rule: ruleID(id), word: len(w), seek: seek.find}
			l.hang(w, a)
			l.hangUpper(w, a)
		}
	}
}

// servicesOf returns the names of services whose keys have no form of their own: the known ones, and those
// that rules of gitleaks look for beside a key.
func servicesOf(rules []*rule) []string {
	services := map[string]bool{}
	for _, rl := range rules {
		for _, k := range rl.keywords {
			if rl.Section == "gitleaks" && rl.Class == Guess && len(k) >= gramLen {
				services[k] = true
			}
		}
	}
	for _, name := range serviceNames {
		services[name] = true
	}
	return slices.Collect(maps.Keys(services))
}

// camelOf returns a label as the names of programs are written, where letters that are no ASCII begin its words: \u043b\u0438\u0447\u043d\u0430\u041a\u0430\u0440\u0442\u0430.
func camelOf(label string) string {
	words := strings.Fields(label)
	for i := 1; i < len(words); i++ {
		if r, n := utf8.DecodeRuneInString(words[i]); n > 1 {
			words[i] = string(unicode.ToUpper(r)) + words[i][n:]
		}
	}
	return strings.Join(words, "")
}

// accentsUpper returns a word as it looks in capitals where only ASCII is compared without regard to case.
func accentsUpper(w string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 {
			return unicode.ToUpper(r)
		}
		return r
	}, w)
}

// serviceNames are names of services which give out keys that have no form of their own. A random value under a name with one of them is a key,
// also when it looks like a digest. The names come from the public lists of secret scanners (TruffleHog, Nosey Parker, Kingfisher, GitHub).
var serviceNames = strings.Fields(`openai anthropic mistral cohere deepseek together perplexity replicate stability elevenlabs deepgram assemblyai voyage serper serpapi
	pinecone weaviate qdrant milvus azure wandb langchain langfuse langsmith tavily firecrawl unstructured portkey baseten vapi livekit agora sagemaker vertex bedrock
	gemini google github gitlab bitbucket gitea jira confluence slack discord telegram twilio sendgrid mailgun mailjet mailchimp mandrill postmark sparkpost vonage nexmo
	plivo messagebird zendesk freshdesk hubspot salesforce pipedrive airtable notion asana clickup monday trello todoist figma miro dropbox calendly typeform contentful
	storyblok shopify etsy cloudflare fastly akamai netlify vercel heroku railway digitalocean linode vultr hetzner scaleway alibaba aliyun tencent huawei baidu yandex ibmcloud
	oracle civo exoscale databricks snowflake planetscale supabase upstash redis mongodb atlas couchbase aiven confluent elastic algolia meilisearch influx clickhouse
	datadog newrelic new_relic grafana sentry honeycomb dynatrace splunk logzio sumo pagerduty opsgenie statuspage bugsnag rollbar airbrake segment mixpanel amplitude posthog
	launchdarkly statsig configcat npmjs pypi rubygems dockerhub jfrog artifactory sonar snyk codecov coveralls circle travis buildkite bitrise drone jenkins teamcity octopus
	terraform pulumi spacelift harness vault consul nomad doppler infisical bitwarden tailscale ngrok zerotier okta auth0 clerk workos fusionauth onelogin jumpcloud mapbox
	openweather nasa alchemy infura etherscan binance kraken coinbase twitter facebook linkedin twitch spotify reddit youtube tiktok pinterest postman rapidapi browserstack
	sauce apify scraper astronomer dagster fivetran pusher ably pubnub onesignal shippo easypost duffel stripe paypal braintree square adyen razorpay plaid expo rails
	tines coda newsapi pushover webflow lokalise strava bitly cloudinary disqus codacy hasura langtrace scrapingbee brightdata packagecloud cloudsmith semgrep gitguardian crowdstrike
	godaddy tomtom alphavantage coinmarketcap smartsheet webex zoom minio comet kagi ollama deepl cypress finnhub clearbit hunter ipinfo ipstack mapquest abuseipdb virustotal shodan censys securitytrails`)

// assignmentWords stand in every name that keyname.go takes for that of a credential, and are at least four bytes long.
var assignmentWords = func() (words []string) {
	words = []string{"password", "passwd", "passwort", "passphrase", "pword", "passcode", "userpass", "dbpass", "secret", "apikey", "apitoken",
		"credential", "creds", "authorization", "cookie", "token", "mnemonic", "phrase", "auth", "bearer", "totp", "backup", "recovery", "accesskey", "privatekey"}
	for _, short := range []string{"pwd", "key", "sig", "jwt", "otp", "cvv", "cvc", "sas", "sid", "pin", "pat", "psk", "dsn", "_sk", "-sk"} {
		for _, next := range "=:\"'`\\] >)-_s*|,\n<(." {
			words = append(words, short+string(next))
		}
	}
	for _, short := range []string{"pass", "salt", "code", "signature", "hmac", "login", "certificate", "session", "webhook", "claim", "macaroon", "assertion", "verifier", "pepper", "signing", "encryption", "grant", "secret_id", "secretid", "connection string", "honeycomb-team", "_pw", "codes", "samlart", "samlresponse", "access", "license", "licence", "activation", "oauth", "oauth2", "unlock", "enrollment", "provisioning", "pairing", "passkey", "keyfile", "2fa", "mfa", "puk", "kek", "dek", "hmac", "signer", "vault"} {
		for _, next := range "=:\"'\\ *|,." {
			words = append(words, short+string(next))
		}
	}
	return append(words, "xprv", "seed", "_wif", "masterauth", "bindpw", "rootpw", "private=", "private:", "private\"", "private'", "private_")
}()

// builtin returns the rules of this package, in the order of their precedence. All detectors share them: a pattern is compiled once in a process.
var builtin = sync.OnceValue(func() []*rule {
	rules := credentialRules()
	rules = append(rules, vendorRules()...)
	rules = append(rules, rulesOfGitleaks()...)
	code := func(name string, class Class, section, text string) {
		rules = append(rules, &rule{Rule: Rule{name, class, section, text}})
	}
	code(ruleURL, Known, "credentials", "the password in the user info of a URL, or a user that is a token")
	code("twilio-key", Known, "credentials", "SK or AC and 32 hexadecimal digits")
	code("vault-token", Known, "credentials", "tokens of HashiCorp Vault, old and new")
	code("telegram-token", Known, "credentials", "tokens of Telegram bots")
	code("aws-secret-key", Guess, "credentials", "40 characters of base64 near the words of AWS")
	code(RuleAssignment, Known, "credentials", "what is assigned to the name of a credential in text: password=…, \"api_key\": \"…\", --secret …, ?sig=…")
	code(RuleSecretKey, Known, "credentials", "the value of an attribute or JSON member with the name of a credential")
	code(ruleEntropy, Guess, "credentials", "a value that looks random under a name that can be that of a credential (token, key, auth), near a word for one, behind a short option, in a call or the path of a URL")
	code(RuleAnywhere, Guess, "credentials", "a value that looks generated under any name (strict only)")
	code(ruleEncoded, Known, "credentials", "base64 of text in which any rule but a guess finds something")
	code("form-field", Known, "credentials", "what is typed into a field of a form that asks for a secret, in arguments of browser tools, in calls, in markup, in words")
	code("table-column", Known, "credentials", "the values of a secret column: results of queries in JSON, tables in text, Markdown and HTML")
	for _, seek := range seekers() {
		if seek.by == "" {
			code(seek.rule, seek.class, "credentials", seek.text)
		}
	}
	code("payment-card", Checked, "pii", "payment cards: Luhn, prefix and length of a network, or a word about cards")
	code("us-ssn", Checked, "pii", "US social security and taxpayer numbers")
	code("iban", Checked, "pii", "IBAN: length of the country, check by 97")
	code("national-id", Checked, "pii", "identity and tax numbers with check digits, most beside their label. In Europe: AT, BE, BG, CH, CZ, DE, DK, EE, ES, FI, FR, GB, GR, HR, HU, IE, IS, IT, LT, LV, NL, NO, PL, PT, RO, RS, RU, SE, SI, TR, UA. In America: AR, BR, CA, CL, CO, EC, MX, US. Elsewhere: AU, CN, HK, ID, IL, IN, JP, KR, MY, NZ, PK, SG, TH, TW, ZA")
	code("email", Checked, "pii", "e-mail addresses")
	code("ip-address", Checked, "pii", "IPv4 and IPv6 addresses other than loopback, link-local, multicast and masks")
	code("phone", Guess, "pii", "telephone numbers: international, the usual national forms, others beside a word about telephones")
	return rules
})

// Builtin is a rule of this package, with what it is made of.
type Builtin struct {
	Rule
	Pattern  string   // "" of rules that are code
	Keywords []string // which stand in every match
}

// Rules returns the rules of this package, in the order of their precedence.
func Rules() (list []Builtin) {
	for _, rl := range builtin() {
		list = append(list, Builtin{rl.Rule, rl.pattern, rl.keywords})
	}
	return list
}

// Rules lists what is searched for, in the order of precedence.
func (r *Detector) Rules() []Rule {
	list := make([]Rule, len(r.rules))
	for i, rl := range r.rules {
		list[i] = rl.Rule
	}
	return list
}

// Named returns what a name says about the value under it.
func (r *Detector) Named(name string) *Name {
	if len(r.secretKeys) == 0 && isPoolID(name) {
		return poolID
	}
	return r.keys.get(name, r.classify)
}

// poolID is the name of a message or a tool in the pool of a tape. There is another one for each, so they are not remembered one by one.
var poolID = func() *Name {
	k := &Name{}
	k.clean.Store(true)
	return k
}()

// isPoolID says whether a name is the id of a message or a tool: a letter and 32 hexadecimal digits.
func isPoolID(name string) bool {
	return len(name) == 33 && (name[0] == 'm' || name[0] == 't') && lowerHex(name[1:]) > 0
}

func (r *Detector) classify(name string) *Name {
	ofToken := slices.Contains(splitWords(name), "token")
	// What stood before a token had a value that is gone, as that of "?sig=[REDACTED:…]". Only the words behind it were the last ones before redaction too.
	if tokens := token.Find(name); len(tokens) > 0 {
		name = name[tokens[len(tokens)-1][1]:]
	}
	k := classifyKey(name)
	k.token = ofToken
	k.service = r.services.any(name)
	k.digest = k.digest && !k.service
	if len(r.secretKeys) > 0 && anySequence(splitWords(name), r.secretKeys) {
		k.secret, k.protocol = true, false
	}
	return k
}
