// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"maps"
	"slices"
	"strings"
)

// What is typed into the fields of forms. Tools of browsers say which field it is in words ({"element":
// "Password field", "text": …}), by a selector ({"selector": "#password", "value": …}), or in a call
// (page.fill('#password', '…')). What names a control that nobody types into (a button, a link, a policy)
// says nothing, and neither do templates and empty values.

// askedWords are words for what a field asks for. Those of askedKeys ask for what has to look like a key.
var (
	askedWords = strings.Split("password|passwd|passphrase|passcode|passwort|kennwort|mot de passe|contrase\u00f1a|contrasena|senha|palavra-passe|wachtwoord|has\u0142o|heslo|l\u00f6senord|adgangskode|passord|salasana|jelsz\u00f3|"+
		"\u015fifre|sifre|parola|\u043f\u0430\u0440\u043e\u043b\u044c|\u043f\u0430\u0440\u043e\u043b\u044f|\u30d1\u30b9\u30ef\u30fc\u30c9|\u5bc6\u7801|\u5bc6\u78bc|\u53e3\u4ee4|\ube44\ubc00\ubc88\ud638|\uc554\ud638|\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631|\u05e1\u05d9\u05e1\u05de\u05d4|\u092a\u093e\u0938\u0935\u0930\u094d\u0921|m\u1eadt kh\u1ea9u|kata sandi|"+
		"2fa|mfa code|verification code|security code|authentication code|auth code|login code|sign-in code|confirmation code|recovery code|backup code|access code|two-factor|two factor|authenticator|sms code|best\u00e4tigungscode|code de v\u00e9rification|"+
		"c\u00f3digo de verificaci\u00f3n|c\u00f3digo de verifica\u00e7\u00e3o|\u9a8c\u8bc1\u7801|\u9a57\u8b49\u78bc|\u8a8d\u8a3c\u30b3\u30fc\u30c9|\uc778\uc99d\ubc88\ud638|\u043a\u043e\u0434 \u043f\u043e\u0434\u0442\u0432\u0435\u0440\u0436\u0434\u0435\u043d\u0438\u044f|recovery phrase|seed phrase|client secret|clientsecret|secret key|secret value|card number|cardnumber|social security", "|")
	askedKeys = strings.Split("api key|apikey|api-key|api_key|access key|secret|token|license key|private key|webhook", "|")
	// askedShort are words of their own only. Those of askedCodes ask for a code, and mean something else
	// elsewhere: a pin of a board, a pass of a test.
	askedShort = wordSet("pwd pw 2fa mfa cvv cvc ssn psw totp")
	askedCodes = wordSet("pass pin otp tan onetime")
	// notTyped are words for what nobody types into, or what is said about a secret.
	notTyped = wordSet(`button btn link checkbox toggle icon forgot forgotten show hide remember strength hint policy policies rule rules requirement requirements error message alert heading title help manager generator search
		count counter expires expiry expiration min max menu tab image logo username email option settings setting reset resetting change changed changing visibility eye list docs about url name type length submit radio
		method channel mode hash map location title`)
	// notTypedLast are words for what is shown of a field, if they are the last ones:
	// input[placeholder=Password] is the field.
	notTypedLast = wordSet("label placeholder caption tooltip")
)

// asking is a word by which a label asks for something.
type asking struct {
	word  string
	asks  asks // by the word alone, wherever it stands
	apart bool // only as one of the words of the label
}

// askingBy lists these words by the lower five bits of their first byte: their case does not count.
var askingBy = func() (by [1 << 5][]asking) {
	add := func(asks asks, apart bool, words ...string) {
		for _, w := range words {
			by[w[0]&31] = append(by[w[0]&31], asking{w, asks, apart})
		}
	}
	add(asksPassword, false, askedWords...)
	add(asksKey, false, askedKeys...)
	add(asksNothing, true, slices.Sorted(maps.Keys(askedShort))...)
	add(asksNothing, true, slices.Sorted(maps.Keys(askedCodes))...)
	add(asksNothing, true, "time") // one-time
	return by
}()

// asked3 has a bit for the first three bytes of each of these words, by five bits of each. Most labels are
// identifiers and types, which have none of them.
var asked3 = func() (begins [1 << 10]uint32) {
	for _, list := range askingBy {
		for _, a := range list {
			for third := range byte(32) {
				if len(a.word) > 2 {
					third = a.word[2]
				}
				at, bit := threeOf(a.word[0], a.word[1], third)
				begins[at] |= bit
			}
		}
	}
	return begins
}()

// threeOf returns the place of three bytes in asked3.
func threeOf(a, b, c byte) (at int, bit uint32) { return int(a&31)<<5 | int(b&31), 1 << (c & 31) }

// askedBy says what a label asks for by the words that stand anywhere in it, and whether it may ask for
// something by one that stands apart.
func askedBy(label string) (a asks, apart bool) {
	if !isASCII(label) { // whose letters have other bytes in lower case
		label = strings.ToLower(label)
	}
	for i := range len(label) - 1 {
		third := byte(0)
		if i+2 < len(label) {
			third = label[i+2]
		}
		if at, bit := threeOf(label[i], label[i+1], third); asked3[at]&bit == 0 {
			continue
		}
		for _, w := range askingBy[label[i]&31] {
			if len(label)-i >= len(w.word) && equalLowered(label[i:], w.word) {
				a, apart = max(a, w.asks), apart || w.apart
			}
		}
	}
	return a, apart
}

// asks is what a label asks for.
type asks uint8

const (
	asksNothing  asks = iota
	asksKey           // what looks like a key
	asksCode          // what has a digit
	asksPassword      // whatever it looks like
)

// takes says whether what is typed can be what is asked for.
func (a asks) takes(v string) bool {
	switch a {
	case asksKey:
		return typedInto(v) && random(v)
	case asksCode:
		return typedInto(v) && hasDigit(v) && (strings.IndexByte(v, ' ') < 0 || codeNumber(v, 0) == len(v))
	}
	return a == asksPassword && typedInto(v)
}

// name is that of what is typed.
func (a asks) name() *Name {
	if a == asksKey {
		return aKeyField
	}
	return aField
}

// asked says what a label asks for.
func asked(label string) asks {
	if len(label) < 2 || len(label) > 200 {
		return asksNothing
	}
	a, apart := askedBy(label)
	if a == asksNothing && !apart {
		return asksNothing
	}
	words := splitWords(label)
	for i, w := range words {
		if askedCodes[w] || w == "time" && i > 0 && words[i-1] == "one" {
			a = max(a, asksCode)
		} else if askedShort[w] {
			a = asksPassword
		}
	}
	if a == asksNothing || len(words) > 16 {
		return asksNothing
	}
	for i, w := range words {
		if notTyped[w] && !(w == "name" && i+1 < len(words)) && !(w == "type" && slices.Contains(words, "password")) { // input[name=password], input[type=password]
			return asksNothing
		}
	}
	if notTypedLast[words[len(words)-1]] {
		return asksNothing
	}
	return a
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// isLabelName holds for members that say which field of a form is meant.
func isLabelName(name string) bool {
	switch name {
	case "element", "label", "selector", "placeholder", "target", "locator", "xpath", "description", "field", "css", "cssSelector", "css_selector", "aria-label", "ariaLabel", "testid", "testId", "test_id",
		"elementDescription", "element_description", "fieldName", "field_name", "name", "id", "key", "type", "prompt", "question", "input_name", "inputName", "elementId", "element_id", "by_label", "role_name",
		"accessibilityLabel", "hint":
		return true
	}
	return false
}

// isTypedName holds for members that say what is typed into a field.
func isTypedName(name string) bool {
	switch name {
	case "text", "value", "content", "input", "inputText", "input_text", "typed", "string", "characters", "answer", "val", "new_value", "newValue", "keys", "fill", "data":
		return true
	}
	return false
}

// aField is the name of what is typed into a field that asks for a secret, aKeyField of one that asks for a
// key.
var (
	aField    = &Name{facts: facts{secret: true, code: true}}
	aKeyField = &Name{facts: facts{credential: true}}
)

// fieldOf returns what the label of a field says about what is typed there.
func fieldOf(name, label string) asks {
	if !isLabelName(name) || (name == "id" || name == "type" || name == "key" || name == "name") && len(label) > 64 {
		return asksNothing
	}
	a := asked(label)
	if a == asksKey && (name == "type" || name == "id") {
		return asksNothing
	}
	return a
}

// typedInto holds for what can be a secret in a field: one word, or several with a digit.
func typedInto(v string) bool {
	return typedSecret(v) && strings.IndexByte(v, '\n') < 0 && v[0] != '<' && v[0] != '{' && (strings.IndexByte(v, ' ') < 0 || hasDigit(v))
}

var formCode = seeker{rule: "form-call", class: Known, by: "form-field", text: "what a call types into a field that asks for a secret", words: []string{".fill(", ".type(", "send_keys(", "sendkeys(", "setvalue(", "addvalue(", ".val(", "fillfield(",
	"presssequentially(", "press_sequentially(", "inputtext:", "input_text(", "inputtext(", "input~text~", "input~password~", "type_text(", "typetext(", "~with:~\"", "~with:~'", ".value~=", ".value=", "target:~{~value:", "keystroke~\"", "entertext(", "enter_text(", "replacetext(", "set_value(", ".set(", ".tohavevalue(", ".input(", "settext(", "change(", "attr('value'", "fill_form_field("}, find: (*finder).formCall}

// formCall looks at a call that types something: the text before it, or its first arguments, say into what.
func (f *finder) formCall(id ruleID, at, end int) {
	s := f.s
	from := lineBefore(s, at, 200)
	if word := s[at:end]; equalLowered(word, "inputtext:") && from > 0 { // Maestro: - tapOn: "Password"
		from = lineBefore(s, from-1, 120)
	}
	f.work += at - from
	for _, separator := range [...]string{";", "&& ", "await "} { // another statement
		if i := strings.LastIndex(s[from:at], separator); i >= 0 {
			from += i + len(separator)
		}
	}
	label := strings.NewReplacer("Placeholder(", "(", "placeholder(", "(", "\\", "").Replace(s[from:at])
	if equalLowered(s[at:end], "keystroke \"") { // of AppleScript: what it is for stands behind
		end--
		label += " " + s[end:lineBehind(s, end, 160)]
	}
	if strings.HasPrefix(s[at:], "Input ") || strings.HasPrefix(s[at:], "input ") { // Robot Framework: Input Text    id:password    …
		f.robot(id, end)
		return
	}
	i := spaces(s, end, 1)
	first := true
	for range 4 {
		lo, hi, next, ok := quotedAt(s, i)
		if !ok {
			if i < len(s) && (isAlpha(s[i]) || s[i] == ':') && first { // By.id(…), a variable
				return
			}
			return
		}
		more := spaces(s, next, 1)
		if more < len(s) && s[more] == ',' && (first || more+1 < len(s)) {
			after := spaces(s, more+1, 1)
			if quoteAt(s, after) == 1 { // its first argument names the field
				label += " " + s[lo:hi]
				i, first = after, false
				continue
			}
		}
		v := strings.TrimSuffix(strings.TrimSuffix(s[lo:hi], "{enter}"), "\\n")
		if equalLowered(s[at:end], ".set(") && !hasDigit(v) { // of a map: labels.set("password", "Kennwort")
			return
		}
		if asked(label[max(0, len(label)-160):]).takes(v) {
			f.add(lo, lo+len(v), id)
		}
		return
	}
}

// robot looks at a keyword of Robot Framework: a locator and a text, parted by two spaces or more.
func (f *finder) robot(id ruleID, i int) {
	s := f.s
	stop := lineBehind(s, i, 240)
	line := s[i:stop]
	trimmed := strings.TrimLeft(line, " \t")
	locator := trimmed
	n := strings.Index(trimmed, "  ")
	if n < 0 {
		return
	}
	locator = trimmed[:n]
	rest := strings.TrimLeft(trimmed[n:], " \t")
	at := i + len(line) - len(rest)
	v := firstWord(rest)
	if a := asked(locator); a != asksKey && a.takes(v) {
		f.add(at, at+len(v), id)
	}
}

var formMarkup = seeker{rule: "form-markup", class: Known, by: "form-field", text: "the value of an input of HTML, or of a text box in a snapshot, that asks for a secret", words: []string{"<input", "textbox~\"", "text~box~\"", "textbox~'", "securetextfield", "<textarea"}, find: (*finder).formInput}

// formInput looks at the attributes of an input, and at the line of a text box in the snapshot of a page.
func (f *finder) formInput(id ruleID, at, end int) {
	if f.s[at] == '<' {
		f.formTag(id, at)
	} else {
		f.formBox(id, at, end)
	}
}

// formBox looks at the line of a text box: textbox "Password": ….
func (f *finder) formBox(id ruleID, at, end int) {
	s := f.s
	stop := lineBehind(s, at, 240)
	f.work += stop - at
	lo, hi, next, ok := quotedAt(s[:stop], end-1)
	if !ok {
		return
	}
	a := asked(s[lo:hi])
	if a == asksNothing {
		return
	}
	colon := strings.Index(s[next:stop], ": ")
	if colon < 0 || strings.ContainsAny(s[next:next+colon], "\"'") {
		return
	}
	from, to := next+colon+2, stop
	if lo, hi, _, ok := quotedAt(s[:stop], from); ok {
		from, to = lo, hi
	}
	if a.takes(strings.TrimSpace(s[from:to])) {
		f.add(from, to, id)
	}
}

// formTag looks at the tag of an input: its value is a secret if one of its other attributes asks for one.
func (f *finder) formTag(id ruleID, at int) {
	s := f.s
	stop := min(len(s), at+600)
	if i := strings.IndexByte(s[at:stop], '>'); i >= 0 {
		stop = at + i
	}
	f.work += stop - at
	tag := s[at:stop]
	value := valueAttribute(tag)
	if value < 0 {
		return
	}
	lo, hi, _, ok := quotedAt(s[:stop], at+value)
	if !ok || !typedInto(s[lo:hi]) {
		return
	}
	for _, name := range [...]string{"type=", "name=", "id=", "placeholder=", "autocomplete=", "aria-label="} {
		i := strings.Index(tag, name)
		if i < 0 || i+len(name) > len(tag) {
			continue
		}
		from, to, _, ok := quotedAt(s[:stop], at+i+len(name))
		if ok && f.inputAsks(s[from:to], s[lo:hi]) {
			f.add(lo, hi, id)
			return
		}
	}
}

// valueAttribute returns where the value of the attribute value="…" begins, -1 if a tag has none. It does not
// take data-value="…".
func valueAttribute(tag string) int {
	for from := 0; ; from++ {
		i := strings.Index(tag[from:], "value=")
		if i < 0 {
			return -1
		}
		if from += i; tag[from-1] <= ' ' {
			return from + len("value=")
		}
	}
}

// inputAsks says whether an attribute of an input asks for a secret, and whether a value can be that secret.
func (f *finder) inputAsks(attribute, value string) bool {
	if a := asked(attribute); a != asksKey && a.takes(value) {
		return true
	}
	k := f.r.Named(attribute)
	return len(attribute) <= 64 && (k.secret || (k.credential || signatureName(attribute)) && random(value))
}

var formSaid = seeker{rule: "form-said", class: Known, by: "form-field", text: "what somebody says to type into a field that asks for a secret", words: []string{"type~\"", "type~'", "type~`", "typed~\"", "typed~'", "typing~\"", "typing~'", "enter~\"", "enter~'", "entered~\"", "entered~'", "fill~\"", "fill~'",
	"~with~\"", "~with~'", "~with~`", "input~\"", "input~'", "put~\"", "put~'", "enter~`", "typed~`", "entered~`", "write~\"", "write~'"}, find: (*finder).formTold}

// formTold looks at a sentence: type "…" into the password field, filled "Password" with "…".
func (f *finder) formTold(id ruleID, at, end int) {
	s := f.s
	lo, hi, next, ok := quotedAt(s, end-1)
	if !ok || !typedInto(s[lo:hi]) {
		return
	}
	f.work += next - at
	if s[at] == ' ' { // … with "…"
		from := lineBefore(s, at, 80)
		before := s[from:at]
		f.work += len(before)
		verb := -1
		for _, w := range [...]string{"ill", "et ", "nter", "ype", "hange"} {
			verb = max(verb, strings.LastIndex(before, w))
		}
		if verb < 0 {
			return
		}
		if asked(before[verb:]).takes(s[lo:hi]) {
			f.add(lo, hi, id)
		}
		return
	}
	stop := lineBehind(s, next, 72)
	after := s[next:stop]
	f.work += len(after)
	link := 0
	for _, w := range [...]string{" into ", " in ", " to ", " on ", " as ", " for "} {
		if strings.HasPrefix(after, w) {
			link = len(w)
		}
	}
	if link == 0 {
		return
	}
	after = after[link:]
	for _, end := range [...]string{". ", ", ", " and ", "; ", " then "} {
		if i := strings.Index(after, end); i > 0 {
			after = after[:i]
		}
	}
	if asked(after).takes(s[lo:hi]) {
		f.add(lo, hi, id)
	}
}

var formLabel = seeker{rule: "form-label", class: Known, by: "form-field", text: "a member that says which field is meant, in text that is no JSON", words: []string{"selector\":", "selector':", "element\":", "element':", "label\":", "label':", "placeholder\":", "placeholder':", "locator\":", "locator':", "xpath\":", "xpath':", "target\":", "target':", "description\":", "description':", "css\":", "css':", "field\":", "field':"}, find: func(f *finder, _ ruleID, at, end int) {
	if lo, hi, _, ok := quotedAt(f.s, spaces(f.s, end, 0)); ok {
		f.formMember(lo, hi)
	}
}}

// formMember looks at members of an object in text behind a label that asks for a secret: {"element":
// "Password field", "ref": "e1", "text": "…"}. start is a place in the label. It is for text that is no JSON,
// in which names of members stand in quotes, or do not.
func (f *finder) formMember(start, end int) bool {
	if f.on.rules.form == none || start < f.formed {
		return false
	}
	open, shut := f.labelAround(start, end)
	if shut == 0 || !isMemberValue(f.s, open) {
		return false
	}
	a := asked(f.s[open:shut])
	if a == asksNothing {
		return false
	}
	lo, hi := f.typedMember(shut + 1)
	if hi == 0 || !a.takes(f.s[lo:hi]) {
		return false
	}
	f.formed = hi
	f.add(lo, hi, f.on.rules.form)
	return true
}

// labelAround returns the range of the quoted text around a place, an empty one if there is none.
func (f *finder) labelAround(start, end int) (open, shut int) {
	s := f.s
	open = behindQuoteBefore(s, start, '"')
	if open == 0 {
		open = behindQuoteBefore(s, start, '\'')
	}
	if open == 0 {
		return 0, 0
	}
	shut = end
	for shut < len(s) && shut-end < 96 && s[shut] != s[open-1] && s[shut] != '\n' {
		shut++
	}
	f.work += shut - open
	if shut >= len(s) || s[shut] != s[open-1] {
		return 0, 0
	}
	return open, shut
}

// behindQuoteBefore returns where the text begins behind the last quote on the line before a place, 0 if
// there is none near.
func behindQuoteBefore(s string, at int, quote byte) int {
	open := at
	for open > 0 && at-open < 96 && s[open-1] != quote && s[open-1] != '\n' {
		open--
	}
	if open == 0 || s[open-1] != quote {
		return 0
	}
	return open
}

// isMemberValue says whether a colon stands before the quoted text that begins at open.
func isMemberValue(s string, open int) bool {
	name := open - 1
	for name > 0 && open-name < 8 && strings.IndexByte(" :", s[name-1]) >= 0 {
		name--
	}
	return strings.Contains(s[name:open-1], ":")
}

// typedMember returns the range of the value of the first member from i on whose name says that it is typed
// in. It is empty if the object ends before, or the value is no text.
func (f *finder) typedMember(i int) (lo, hi int) {
	s := f.s
	for from := i - 1; i < len(s) && i-from < 200 && s[i] != '}' && s[i] != '{' && s[i] != '\n'; {
		if s[i] != '"' && s[i] != '\'' && !isAlpha(s[i]) {
			i++
			continue
		}
		name, next, ok := memberName(s, i)
		if !ok {
			return 0, 0
		}
		f.work += len(name)
		i = next
		at := spaces(s, i, 0)
		if at >= len(s) || s[at] != ':' || !isTypedName(name) {
			continue
		}
		if lo, hi, _, ok = quotedAt(s, spaces(s, at+1, 0)); ok {
			return lo, hi
		}
		return 0, 0
	}
	return 0, 0
}

// memberName returns the name of a member at i, in quotes or not, and where the text goes on behind it.
func memberName(s string, i int) (name string, next int, ok bool) {
	if !isAlpha(s[i]) {
		lo, hi, next, ok := quotedAt(s, i)
		return s[lo:hi], next, ok
	}
	next = i
	for next < len(s) && isWord(s[next]) {
		next++
	}
	return s[i:next], next, true
}
