// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// ibanForms are what follows country and check digits in the account number of each country, as in the IBAN registry (ISO 13616). A form is
// counts of digits (n), upper-case letters (a) or either (c).
var ibanForms = func() map[string]string {
	m := map[string]string{}
	for _, f := range strings.Fields(`AD=8n12c AE=19n AL=8n16c AT=16n AZ=4a20c BA=16n BE=12n BG=4a6n8c BH=4a14c BI=23n BR=23n1a1c BY=4c4n16c CH=5n12c CR=18n
		CY=8n16c CZ=20n DE=18n DJ=23n DK=14n DO=4c20n EE=16n EG=25n ES=20n FI=14n FK=2a12n FO=14n FR=10n11c2n GB=4a14n GE=2a16n GI=4a15c GL=14n GR=7n16c
		GT=24c HN=4a20n HR=17n HU=24n IE=4a14n IL=19n IQ=4a15n IS=22n IT=1a10n12c JO=4a4n18c KW=4a22c KZ=3n13c LB=4n20c LC=4a24c LI=5n12c LT=16n LU=3n13c
		LV=4a13c LY=21n MC=10n11c2n MD=20c ME=18n MK=3n10c2n MN=16n MR=23n MT=4a5n18c MU=4a19n3a NI=4a20n NL=4a10n NO=11n OM=3n16c PK=4a16c PL=24n PS=4a21c
		PT=21n QA=4a21c RO=4a16c RS=18n RU=14n15c SA=2n18c SC=4a20n3a SD=14n SE=20n SI=15n SK=20n SM=1a10n12c SO=19n ST=21n SV=4a20n TL=19n TN=20n TR=6n16c
		UA=6n19c VA=18n VG=4a16n XK=16n YE=4a4n18c`) {
		country, form, _ := strings.Cut(f, "=")
		var b strings.Builder
		for n := 0; form != ""; form = form[1:] {
			if c := form[0]; isDigit(c) {
				n = n*10 + int(c-'0')
			} else {
				b.WriteString(strings.Repeat(string(c), n))
				n = 0
			}
		}
		m[country] = "aann" + b.String()
	}
	return m
}()

// ibanAt returns the end of the IBAN that begins at from, or 0: the structure of its country, check by 97. Groups of four may be separated by a
// space or a hyphen.
func (f *finder) ibanAt(from int) int {
	s := f.s
	form := ibanForms[strings.ToUpper(s[from:from+2])]
	if form == "" {
		return 0
	}
	var code [34]byte
	n, i, apart, hex := 0, from, false, true
	for ; i < len(s) && n < len(form); i++ {
		c := s[i]
		switch {
		case isLower(c):
			hex = hex && c <= 'f'
			c -= 0x20
		case c == ' ' || c == '-':
			if n%4 != 0 {
				return 0
			}
			apart = true
			continue
		case isUpper(c):
			hex = false
		case !isDigit(c):
			return 0
		}
		if form[n] == 'n' && !isDigit(c) || form[n] == 'a' && isDigit(c) {
			return 0
		}
		code[n] = c
		n++
	}
	if n < len(form) || i < len(s) && isWord(s[i]) {
		return 0
	}
	rem := 0
	for j := range n {
		c := code[(j+4)%n]
		if isDigit(c) {
			rem = (rem*10 + int(c-'0')) % 97
		} else {
			rem = (rem*100 + int(c-'A') + 10) % 97
		}
	}
	// Sixteen hexadecimal digits are a span id, unless somebody says that they are not.
	if rem != 1 || hex && !apart && n == 16 && !f.near(from, i, 24, []string{"iban", "konto"}) {
		return 0
	}
	return i
}
