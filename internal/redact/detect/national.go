// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// nationalForms are forms of identity numbers. The first that fits decides.
var nationalForms = [...]struct {
	shape string   // the lengths of the groups and the separators between them; * is any separator
	words []string // one of them has to stand beside the number; nil: the shape is enough
	text  bool     // it is not looked for under the name of an id
	ssn   bool     // it is reported as a US social security number
	valid func(digits string) bool
}{
	{shape: "3-2-4", ssn: true, valid: ssn},
	{shape: "3 2 4", words: ssnWords, ssn: true, valid: ssn},
	{shape: "9", words: ssnWords, text: true, ssn: true, valid: ssn},
	{shape: "3.3.3-2", valid: cpf},
	{shape: "11", words: []string{"cpf"}, valid: cpf},
	{shape: "2.3*3/4*2", valid: cnpj},
	{shape: "4 4 4", valid: aadhaar},
	{shape: "4-4-4", valid: aadhaar},
	{shape: "12", words: []string{"aadhaar", "aadhar"}, valid: aadhaar},
	{shape: "6-4", valid: personnummer},
	{shape: "8-4", valid: personnummer},
	{shape: "6-7", valid: func(d string) bool { return dateAt(d, 2) && d[6] >= '1' && d[6] <= '8' && rrn(d) }},
	{shape: "3*3*3", words: nationalWords, valid: func(d string) bool { return luhn(d) || elevenTest(d) }},
	{shape: "3*3*4", words: []string{"nhs"}, valid: nhs},
}

// national looks for identity numbers that consist of digits. Those whose form others share need a word
// beside them. followed: a word goes on behind the digits.
func (f *finder) national(groups []group, total int, followed bool) bool {
	s := f.s
	start, end := groups[0].start, groups[len(groups)-1].end
	if total > 20 {
		return false
	}
	var store [maxGroups * 24]byte
	d := digits(s, groups, store[:0])
	if followed { // digits and a letter
		return f.spanishID(string(d), groups) || f.chineseID(string(d)+strings.ToUpper(s[end:end+1]), start, end+1, len(groups) == 1)
	}
	if total == 18 && len(groups) == 1 {
		return f.chineseID(string(d), start, end, true)
	}
	valid, rule := f.nationalCheck(groups, d)
	if valid == nil || !valid(string(d)) {
		return false
	}
	f.add(start, end, rule)
	return true
}

// nationalCheck returns the check of the identity number that groups can be, nil if they can be none, and the
// rule that reports it.
func (f *finder) nationalCheck(groups []group, d []byte) (valid func(string) bool, rule ruleID) {
	start, end := groups[0].start, groups[len(groups)-1].end
	labelled := func(words []string) bool {
		return words == nil || f.k.hint&hintNational != 0 || f.near(start, end, 48, words)
	}
	for i := range nationalForms {
		form := &nationalForms[i]
		if shaped(groups, form.shape) && !(form.text && f.k.protocol) && labelled(form.words) {
			rule = f.on.rules.national
			if form.ssn {
				rule = f.on.rules.ssn
			}
			return form.valid, rule
		}
	}
	switch {
	case len(d) == 15 && (len(groups) >= 5 && (d[0] == '1' || d[0] == '2') || labelled([]string{"insee", "curit", "nir"})):
		valid = insee
	case len(groups) == 1 && !f.k.protocol && (len(d) == 8 || len(d) == 9 || len(d) == 11) && labelled(nationalWords):
		valid = plainNational
		if len(d) == 9 && f.near(start, end, 24, []string{"passport"}) {
			valid = func(string) bool { return true }
		}
	}
	return valid, f.on.rules.national
}

// shaped says whether groups have the lengths and the separators of a shape.
func shaped(groups []group, shape string) bool {
	for i, g := range groups {
		if i > 0 {
			if shape == "" || shape[0] != '*' && shape[0] != g.sep {
				return false
			}
			shape = shape[1:]
		}
		n := 0
		for shape != "" && isDigit(shape[0]) {
			n, shape = n*10+int(shape[0]-'0'), shape[1:]
		}
		if n != g.len() {
			return false
		}
	}
	return shape == ""
}

// plainNational is the check of numbers that say what they are by a word beside them only.
func plainNational(d string) bool {
	switch len(d) {
	case 8:
		return elevenTest("0" + d)
	case 9:
		return luhn(d) || elevenTest(d) || aba(d)
	}
	return pesel(d) || steuerID(d) || cpf(d)
}

func aadhaar(d string) bool { return d[0] >= '2' && verhoeff(d) }

func personnummer(d string) bool { return dateAt(d[len(d)-10:], 2) && luhn(d[len(d)-10:]) }

func insee(d string) bool { return mod97(d[:13]) == 97-atoi(d[13:]) }

// lettersBefore looks at numbers with letters directly before them: IBAN, UK national insurance, Spanish NIE, Italian codice fiscale.
func (f *finder) lettersBefore(groups []group) {
	s := f.s
	start := groups[0].start
	from := start
	for from > 0 && isAlpha(s[from-1]) && start-from < 7 {
		from--
	}
	if from == start || from > 0 && isWord(s[from-1]) {
		return
	}
	switch letters := s[from:start]; {
	case len(letters) == 2:
		if f.on.iban {
			if end := f.ibanAt(from); end > 0 {
				f.add(from, end, f.on.rules.iban)
				return
			}
		}
		if f.on.national && letters == strings.ToUpper(letters) {
			if end := nino(s, from); end > 0 {
				f.add(from, end, f.on.rules.national)
			}
		}
	case len(letters) == 1 && f.on.national:
		if i := strings.IndexByte("XYZ", letters[0]); i >= 0 && len(groups) == 1 && groups[0].len() == 7 && groups[0].end < len(s) {
			f.spanishLetter(string("012"[i])+s[start:groups[0].end], from, groups[0].end)
		}
	case len(letters) == 6 && f.on.national:
		if end := codiceFiscale(s, from); end > 0 {
			f.add(from, end, f.on.rules.national)
		}
	}
}

func (f *finder) spanishID(d string, groups []group) bool {
	return len(d) == 8 && len(groups) == 1 && f.spanishLetter(d, groups[0].start, groups[0].end)
}

// spanishLetter checks the letter behind the digits of a DNI or NIE.
func (f *finder) spanishLetter(d string, start, end int) bool {
	if f.k.protocol || f.s[end] != "TRWAGMYFPDXBNJZSQVHLCKE"[atoi(d)%23] || end+1 < len(f.s) && isWord(f.s[end+1]) {
		return false
	}
	f.add(start, end+1, f.on.rules.national)
	return true
}

func (f *finder) chineseID(d string, start, end int, whole bool) bool {
	if !whole || len(d) != 18 || end < len(f.s) && isWord(f.s[end]) || !(d[6:8] == "19" || d[6:8] == "20") || !dateAt(d, 8) {
		return false
	}
	sum := 0
	for i := range 17 {
		sum += int(d[i]-'0') * (1 << (17 - i) % 11)
	}
	if d[17] != "10X98765432"[sum%11] {
		return false
	}
	f.add(start, end, f.on.rules.national)
	return true
}

// ssn says whether nine digits can be a US social security number or taxpayer number (ITIN).
func ssn(d string) bool {
	area, grp, serial := atoi(d[:3]), atoi(d[3:5]), atoi(d[5:])
	if grp == 0 || serial == 0 || area == 0 || area == 666 {
		return false
	}
	return area < 900 || grp >= 50 && grp != 66 && grp != 67 && grp != 68 && grp != 69 && grp != 89 && grp != 93
}

func atoi(d string) (n int) {
	for i := range len(d) {
		n = n*10 + int(d[i]-'0')
	}
	return n
}

// dateAt says whether the month and day in d[at:] exist.
func dateAt(d string, at int) bool {
	month, day := atoi(d[at:at+2]), atoi(d[at+2:at+4])
	return month >= 1 && month <= 12 && day >= 1 && day <= 31
}

func weighted(d string, weights string) (sum int) {
	for i := range len(weights) {
		sum += int(d[i]-'0') * int(weights[i]-'0')
	}
	return sum
}

func cpf(d string) bool {
	if !notOneByte(d) {
		return false
	}
	for n := 9; n <= 10; n++ {
		sum := 0
		for i := range n {
			sum += int(d[i]-'0') * (n + 1 - i)
		}
		if sum*10%11%10 != int(d[n]-'0') {
			return false
		}
	}
	return true
}

func cnpj(d string) bool {
	check := func(n int, weights string) bool {
		r := weighted(d, weights) % 11
		if r < 2 {
			r = 11
		}
		return int(d[n]-'0') == 11-r
	}
	return notOneByte(d) && check(12, "543298765432") && check(13, "6543298765432")
}

func rrn(d string) bool { return (11-weighted(d, "234567892345")%11)%10 == int(d[12]-'0') }

func nhs(d string) bool {
	sum := 0
	for i := range 9 {
		sum += int(d[i]-'0') * (10 - i)
	}
	return 11-sum%11 == int(d[9]-'0') || sum%11 == 0 && d[9] == '0'
}

func pesel(d string) bool {
	return dateAt(string("0123456789"[int(d[2]-'0')%2])+d[3:6], 0) && (10-weighted(d, "1379137913")%10)%10 == int(d[10]-'0')
}

// elevenTest is that of the Dutch citizen service number.
func elevenTest(d string) bool {
	return notOneByte(d) && ((weighted(d, "98765432")-int(d[8]-'0'))%11) == 0
}

func aba(d string) bool { return notOneByte(d) && weighted(d, "371371371")%10 == 0 }

func steuerID(d string) bool {
	p := 10
	for i := range 10 {
		if p = (int(d[i]-'0') + p) % 10; p == 0 {
			p = 10
		}
		p = p * 2 % 11
	}
	return d[0] != '0' && (11-p)%10 == int(d[10]-'0')
}

func mod97(d string) (n int) {
	for i := range len(d) {
		n = (n*10 + int(d[i]-'0')) % 97
	}
	return n
}

func verhoeff(d string) bool {
	c := byte(0)
	for i := range len(d) {
		c = verhoeffD[c][verhoeffP[i%8][d[len(d)-1-i]-'0']-'0'] - '0'
	}
	return c == 0
}

var (
	verhoeffD = [10]string{"0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043", "8765932104", "9876543210"}
	verhoeffP = [8]string{"0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258"}
)

// nino returns the end of the UK national insurance number that begins at from, or 0.
func nino(s string, from int) int {
	if strings.IndexByte("DFIQUV", s[from]) >= 0 || strings.IndexByte("DFIQUVO", s[from+1]) >= 0 {
		return 0
	}
	switch s[from : from+2] {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return 0
	}
	i, n := from+2, 0
	for ; i < len(s) && n < 6; i++ {
		if isDigit(s[i]) {
			n++
		} else if s[i] != ' ' || n%2 != 0 {
			return 0
		}
	}
	if i < len(s) && s[i] == ' ' {
		i++
	}
	if n < 6 || i >= len(s) || s[i] < 'A' || s[i] > 'D' || i+1 < len(s) && isWord(s[i+1]) {
		return 0
	}
	return i + 1
}

// codiceFiscale returns the end of the Italian tax code that begins at from, or 0.
func codiceFiscale(s string, from int) int {
	const form = "AAAAAA00A00A000A"
	if len(s)-from < len(form) || len(s)-from > len(form) && isWord(s[from+len(form)]) {
		return 0
	}
	code := strings.ToUpper(s[from : from+len(form)])
	sum := 0
	for i := range len(form) {
		c := code[i]
		if form[i] == 'A' && !isUpper(c) || form[i] == '0' && !isDigit(c) {
			return 0
		}
		v := int(c - 'A')
		if isDigit(c) {
			v = int(c - '0')
		}
		if i%2 == 0 && i < 15 {
			v = int("BAFHJNPRTVCESULDGIMOQKWZYX"[v] - 'A')
		}
		if i < 15 {
			sum += v
		}
	}
	if int(code[15]-'A') != sum%26 || strings.IndexByte("ABCDEHLMPRST", code[8]) < 0 {
		return 0
	}
	return from + len(form)
}
