// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"
)

// group is digits without a separator between them.
type group struct {
	start, end int
	sep        byte // the separator before it: 0 for the first, one of " -./", or ')' when a bracket closes between
}

func (g group) len() int { return g.end - g.start }

// maxGroups bounds what is looked at as one number; a list of numbers is cut into several.
const maxGroups = 12

// numbers looks at everything that begins with a digit: each run of groups of digits, joined by single separators.
func (f *finder) numbers() {
	s := f.s
	var store [maxGroups]group
	for i := 1; i < len(s)+1; i += 2 { // every second byte: what has one digit only is no number worth having
		for i+8 <= len(s) && noDigit(load(s, i)) {
			i += 8
		}
		at := i
		if at == len(s) || !isDigit(s[at]) {
			at--
			if !isDigit(s[at]) {
				continue
			}
		}
		for at > 0 && isDigit(s[at-1]) {
			at--
		}
		groups := digitGroups(s, at, store[:0])
		end := groups[len(groups)-1].end
		total := 0
		for _, g := range groups {
			total += g.len()
		}
		if total >= 4 || at >= 2 && isAlpha(s[at-1]) {
			f.number(groups, total)
		}
		if i < end {
			i += (end - i) &^ 1
		}
	}
}

// noDigit says whether none of eight bytes can be a digit: none has 3 as its upper half.
func noDigit(x uint64) bool {
	const low, high = 0x0101010101010101, 0x8080808080808080
	upper := (x ^ low*'0') & (low * 0xf0)
	return (upper-low)&^upper&high == 0
}

// digitGroups reads groups from a digit on.
func digitGroups(s string, at int, groups []group) []group {
	sep := byte(0)
	for {
		end := at
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		groups = append(groups, group{at, end, sep})
		if len(groups) == maxGroups || end == len(s) {
			return groups
		}
		next := end
		sep = s[next]
		switch sep {
		case ' ', '-', '.', '/':
			next++
			if sep != '.' && next < len(s) && s[next] == '(' {
				next++
			}
		case ')':
			next++
			if next < len(s) && (s[next] == ' ' || s[next] == '-') {
				next++
			}
		default:
			return groups
		}
		if next >= len(s) || !isDigit(s[next]) {
			return groups
		}
		at = next
	}
}

// inUUID says whether s[start:end] are digits of a UUID. Some groups of a UUID have no letters, and one in a
// hundred of those would be a number with a check digit.
func inUUID(s string, start, end int) bool {
	const length = 36
	if (start == 0 || s[start-1] != '-') && (end == len(s) || s[end] != '-') {
		return false
	}
	for from := max(0, start-length+1); from <= start && from+length <= len(s); from++ {
		if hexDigest(s[from : from+length]) {
			return (from == 0 || !isAlnum(s[from-1])) && (from+length == len(s) || !isAlnum(s[from+length]))
		}
	}
	return false
}

// number applies the rules for numbers to a run of groups.
func (f *finder) number(groups []group, total int) {
	s := f.s
	first, last := groups[0], groups[len(groups)-1]
	if first.start > 0 && isWord(s[first.start-1]) {
		f.attached(groups, total)
		return
	}
	if inUUID(s, first.start, last.end) {
		return
	}
	if f.on.ip && !f.k.version {
		f.ipv4(groups)
	}
	if total == 48 && len(groups) == 8 && recoveryKey(groups) {
		f.add(first.start, last.end, f.on.rules.assignment)
		return
	}
	if f.on.card && (halfCard(last.len()) && f.cardApart(last) || total >= 12 && f.card(groups)) || total < 7 {
		return
	}
	followed := last.end < len(s) && isWord(s[last.end])
	if f.on.national && f.national(groups, total, followed) {
		return
	}
	if total <= 20 && f.dialled(first.start) && (!followed || extension(s[last.end:])) {
		f.phone(groups, total)
	}
}

// dialled says whether a number at start may be that of a telephone. Under the name of an id it is none,
// but for one behind a plus that somebody is grouped by.
func (f *finder) dialled(start int) bool {
	return f.on.phone && (!f.k.protocol || f.k.grouping && start > 0 && f.s[start-1] == '+')
}

// attached applies the rules for numbers to groups that go on a word.
func (f *finder) attached(groups []group, total int) {
	first := groups[0]
	if f.s[first.start-1] == '_' && f.on.card && len(groups) == 1 && halfCard(total) && f.cardApart(first) {
		return
	}
	f.lettersBefore(groups)
}

// halfCard holds for the lengths of the last digits of a card.
func halfCard(n int) bool { return n == 4 || n == 8 }

// recoveryKey says whether groups are those of a recovery key of BitLocker: eight of six digits.
func recoveryKey(groups []group) bool {
	for i, g := range groups {
		if g.len() != 6 || i > 0 && g.sep != '-' {
			return false
		}
	}
	return true
}

// digits appends the digits of groups.
func digits(s string, groups []group, dst []byte) []byte {
	for _, g := range groups {
		dst = append(dst, s[g.start:g.end]...)
	}
	return dst
}

// card looks for payment cards: in one group, or in groups as they are printed.
func (f *finder) card(groups []group) (found bool) {
	for a := 0; a < len(groups); a++ {
		if last := f.cardFrom(groups[a:]); last >= 0 {
			f.add(groups[a].start, groups[a+last].end, f.on.rules.card)
			a, found = a+last, true
		}
	}
	return found
}

// cardFrom returns the last of the groups of a card that begins with the first, -1 if none does.
func (f *finder) cardFrom(groups []group) int {
	s, g := f.s, groups[0]
	n := g.len()
	if n >= 12 && n <= 19 {
		if f.cardNumber(s[g.start:g.end], g.start, g.end, false) {
			return 0
		}
		return -1
	}
	if len(groups) == 1 {
		return -1
	}
	next := groups[1]
	var store [maxGroups * 24]byte
	if n == 8 && next.len() == 8 && (next.sep == ' ' || next.sep == '-' || next.sep == '/') {
		if number := string(digits(s, groups[:2], store[:0])); network(number) && f.cardNumber(number, g.start, next.end, true) {
			return 1
		}
	}
	shaped := n == 4 && (next.len() == 4 || next.len() == 6)
	if n < 4 || n > 6 || next.sep == '/' && !shaped {
		return -1
	}
	for b := 1; b < len(groups) && groups[b].sep == next.sep && groups[b].len() <= 7 && n < 19; b++ {
		if n += groups[b].len(); n < 13 || n > 19 {
			continue
		}
		number := string(digits(s, groups[:b+1], store[:0]))
		if f.cardNumber(number, g.start, groups[b].end, shaped) {
			return b
		}
	}
	return -1
}

// cardNumber says whether digits are a card number: Luhn, and a prefix and length that a network gives out. Without groups or words
// about cards, one in ten long ids would pass the Luhn check. In that case it asks for the common networks, and for an end that is
// no part of something longer.
func (f *finder) cardNumber(number string, start, end int, shaped bool) bool {
	if !luhn(number) || !notOneByte(number) {
		return false
	}
	s := f.s
	if f.k.hint&hintCard != 0 || f.near(start, end, 60, cardWords) {
		return true
	}
	if f.k.protocol && !shaped || !shaped && f.behindIDWord(start) || len(number) == 13 && ean(number) { // thirteen digits are goods, more often than an old card
		return false
	}
	if !shaped {
		if start > 0 && strings.IndexByte("._-/=#", s[start-1]) >= 0 && !(s[start-1] == '=' || s[start-1] == '#') {
			return false
		}
		if end < len(s) && (isWord(s[end]) || s[end] == '-' || s[end] == '.' && end+1 < len(s) && isDigit(s[end+1])) {
			return false
		}
	} else if end < len(s) && isWord(s[end]) {
		return false
	}
	return network(number)
}

// behindIDWord says whether the word before a number says that it is an id: the decimal digits of a span or trace id in hexadecimal are no card.
func (f *finder) behindIDWord(start int) bool {
	s := f.s
	end := start
	for end > 0 && start-end < 4 && strings.IndexByte(" :=#\"'", s[end-1]) >= 0 {
		end--
	}
	from := end
	for from > 0 && end-from < 24 && isWord(s[from-1]) {
		from--
	}
	word := strings.ToLower(s[from:end])
	return numbered[word] || protocolName(word)
}

// numbered are words behind which a number is an id, or a time.
var numbered = wordSet("span spans trace traces parent object build frame job run commit block chunk node event message msg request thread process offset seq sequence ts timestamp time at tick digest")

// network says whether a payment network gives out numbers with this prefix and length.
func network(n string) bool {
	prefix := atoi(n[:4])
	for _, of := range networks {
		if prefix >= of.from && prefix <= of.to {
			return of.lengths>>len(n)&1 != 0
		}
	}
	return false
}

// networks are the ranges of prefixes of payment networks. They do not overlap.
var networks = [...]struct {
	from, to int
	lengths  uint32 // of the numbers, each as its bit
}{
	{4000, 4999, lengths(13, 16, 19)}, // Visa
	{5100, 5599, lengths(16)},         // Mastercard
	{2221, 2720, lengths(16)},
	{3400, 3499, lengths(15)}, // American Express
	{3700, 3799, lengths(15)},
	{3600, 3699, lengths(14, 16)}, // Diners Club
	{3800, 3999, lengths(14, 16)},
	{3000, 3059, lengths(14, 16)},
	{3095, 3095, lengths(14, 16)},
	{6011, 6011, lengths(16, 19)}, // Discover
	{6440, 6599, lengths(16, 19)},
	{3528, 3589, lengths(16)}, // JCB
	{2131, 2131, lengths(15)},
	{1800, 1800, lengths(15)},
	{2200, 2204, lengths(16, 17, 18, 19)}, // Mir
	{6200, 6299, lengths(16, 17, 18, 19)}, // UnionPay
	{8100, 8199, lengths(16, 17, 18, 19)},
	{5018, 5018, lengths(16, 18, 19)}, // Maestro
	{5020, 5020, lengths(16, 18, 19)},
	{5038, 5038, lengths(16, 18, 19)},
	{5893, 5893, lengths(16, 18, 19)},
	{6304, 6304, lengths(16, 18, 19)},
	{6759, 6759, lengths(16, 18, 19)},
	{6761, 6763, lengths(16, 18, 19)},
}

func lengths(of ...int) (bits uint32) {
	for _, n := range of {
		bits |= 1 << n
	}
	return bits
}

func luhn(n string) bool {
	sum := 0
	for i := len(n) - 1; i >= 0; i-- {
		d := int(n[i] - '0')
		if (len(n)-i)%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// Words beside a number that say what it is.
var (
	cardWords  = []string{"\u043a\u0430\u0440\u0442", "kreditkarte", "tarjeta", "kartennummer", "carte bancaire", "kreditkort", "\u30ab\u30fc\u30c9", "\u5361\u53f7", "card", "visa", "amex", "mastercard", "maestro", "credit", "debit", "cc #", "cc:", "cc "}
	phoneWords = []string{"phone", "tel:", "tel.", "tel ", "mobile", "cell", "fax", "whatsapp", "sms", "call me", "text me", "telefon", "handy", "ring me", "dial",
		"tel\u00e9fono", "t\u00e9l\u00e9phone", "telefone", "celular", "cellulare", "puhelin", "gsm", "\u0442\u0435\u043b\u0435\u0444\u043e\u043d", "\u7535\u8bdd", "\u96fb\u8a71", "\uc804\ud654",
		"mobil:", "mobil ", "mobil=", "mobil\"", "mobilnummer", "mobiel", "m\u00f3vil", "movil", "cep tel", "cep:", "no hp", "nomor hp", "telefoon", "telepon", "\u0111i\u1ec7n tho\u1ea1i", "\u05d8\u05dc\u05e4\u05d5\u05df", "\u0647\u0627\u062a\u0641", "\u062c\u0648\u0627\u0644", "\u03c4\u03b7\u03bb\u03ad\u03c6\u03c9\u03bd\u03bf", "\u0442\u0435\u043b.", "\u0442\u0435\u043b:", "\u643a\u5e2f", "\u624b\u673a", "\u0e42\u0e17\u0e23", "contact number",
		"telem\u00f3vel", "telemovel", "natel:", "tlf:", "mobilsz\u00e1m", "telefonsz\u00e1m", "puhelinnumero", "matkapuhelin", "k\u00e4nnykk\u00e4", "mobilnr", "mobiltelefon", "mobiln\u00ed", "\u03ba\u03b9\u03bd\u03b7\u03c4\u03cc", "\u043c\u043e\u0431\u0456\u043b\u044c\u043d\u0438\u0439", "\u043c\u043e\u0431\u0438\u043b\u044c\u043d\u044b\u0439", "\u0441\u043e\u0442\u043e\u0432\u044b\u0439", "\ud734\ub300\ud3f0", "\ud734\ub300\uc804\ud654", "\u643a\u5e2f\u756a\u53f7", "\u624b\u6a5f", "\u96fb\u8a71\u756a\u53f7", "\u0627\u0644\u062c\u0648\u0627\u0644", "\u0627\u0644\u0647\u0627\u062a\u0641", "\u092b\u093c\u094b\u0928", "\u092e\u094b\u092c\u093e\u0907\u0932", "\u092b\u094b\u0928", "\u0e40\u0e1a\u0e2d\u0e23\u0e4c", "handphone", "hp no", "hp number", "tlf ", "tlf.", "tlf=", "tlf\"", "natel "}
	talkWords     = []string{"answering at", "reach", "messages to", "registered", "desk", "office", "contact", "call ", "hotline"}
	ssnWords      = []string{"ssn", "social security", "soc sec"}
	nationalWords = []string{"tax", "national id", "identity", "nif", "nie", "dni", "pesel", "bsn", "nhs", "sin", "social insurance", "aadhaar", "aadhar", "cpf", "cnpj",
		"steuer", "passport", "insee", "sécurité sociale", "securite sociale", "tin", "routing", "aba", "medicare", "burgerservice", "id card", "id number", "personnummer"}
)

// near says whether one of the words stands at most n bytes before start or 14 bytes behind end.
func (f *finder) near(start, end, n int, words []string) bool {
	return containsWord(f.s[max(0, start-n):start], words) || containsWord(f.s[end:min(len(f.s), end+14)], words)
}

func containsWord(s string, words []string) bool {
	lower := strings.ToLower(s)
	for _, w := range words {
		for from := 0; ; {
			i := strings.Index(lower[from:], w)
			if i < 0 {
				break
			}
			from += i
			after := from + len(w)
			if (from == 0 || !isAlpha(lower[from-1])) && !(after < len(lower) && lower[after] == 's' && isAlpha(w[len(w)-1])) {
				return true
			}
			from++
		}
	}
	return false
}

func isAlpha(c byte) bool { return isLower(c) || isUpper(c) }

// extension says whether text begins with that of a phone number: x123, ext. 123.
func extension(s string) bool { return extensionLen(s) > 0 }

func extensionLen(s string) int {
	i := 0
	for i < len(s) && s[i] == ' ' {
		i++
	}
	switch {
	case strings.HasPrefix(s[i:], "x"):
		i++
	case strings.HasPrefix(s[i:], "ext"):
		i += 3
		for i < len(s) && (s[i] == '.' || s[i] == ' ') {
			i++
		}
	default:
		return 0
	}
	from := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == from || i-from > 6 {
		return 0
	}
	return i
}
