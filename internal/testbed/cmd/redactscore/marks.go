// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
)

// aMark is what stands for a value in a text, or in a number of a person.
var aMark = regexp.MustCompile(`\{(?:P|W|H|G|B|C|J|T|R|M|D43|N6|X[0-9]{2}|A[0-9]{1,2}|BC|S6|V|IR|KZ|AE|SA|K44|S12|W3|Q|Y|U|Z|A40|TG|L|CS|CU|CL|CE|CED|CDT|CAS|CTB|LP|LD|LA|S24|DJ|K18|R25|R31|W20|T16|TS|TL|N33|N3D|RC|D44|D8|RK|AK|A27|A43|U8)\}`)

// filled returns what stands for a mark of textKinds.
func (g *generator) filled(mark string) string {
	switch mark {
	case "{P}":
		return g.pick("Hunter2-", "Tr0ub4dor&", "S0nnenschein", "Winter2024!", "qW3rty_", "p4ssw0rt.") + g.chars(4, lower) + g.chars(2, digit)
	case "{V}": // as managers of passwords make them
		return g.chars(3, upper) + g.chars(4, lower) + g.chars(2, digit) + g.pick("!", "#", "%", "*", "-") + g.chars(4, alnum)
	case "{Z}": // of eight letters and digits, without a sign
		return g.chars(1, upper) + g.chars(2, lower) + g.chars(1, upper) + g.chars(1, lower) + g.chars(1, digit) + g.chars(1, upper) + g.chars(1, lower)
	case "{A40}":
		return g.chars(40, alnum+"+/")
	case "{W}":
		return g.pick("correcthorse", "swordfish", "batterystaple", "mountainview", "bluebanana")
	case "{H}":
		return g.chars(28, alnum) + g.chars(2, digit)
	case "{X20}", "{X32}", "{X40}", "{X64}":
		return g.chars(atoi(mark[2:len(mark)-1]), hexa)
	case "{G}":
		return g.chars(4, lower) + " " + g.chars(4, lower) + " " + g.chars(4, lower) + " " + g.chars(4, lower)
	case "{B}":
		return base64.StdEncoding.EncodeToString([]byte(g.chars(16, alnum)))
	case "{C}":
		return base64.StdEncoding.EncodeToString([]byte("admin:" + g.chars(12, alnum)))
	case "{BC}":
		return g.chars(53, alnum+"./")
	case "{A1}":
		return g.chars(22, base)
	case "{A22}":
		return g.chars(22, alnum+"./")
	case "{D43}":
		return g.chars(43, urlish)
	case "{IR}", "{KZ}", "{AE}", "{SA}":
		return g.checked(mark[1 : len(mark)-1])
	case "{A2}":
		return g.chars(43, base)
	case "{S6}":
		return g.chars(86, alnum+"./")
	case "{J}":
		return g.chars(160, urlish)
	case "{N6}":
		return g.chars(6, "123456789")
	case "{R}":
		return g.chars(5, lower+digit) + "-" + g.chars(5, lower+digit)
	case "{T}":
		return g.chars(32, upper+"234567")
	case "{K44}":
		return g.chars(42, alnum+"+/") + g.chars(1, "AEIMQUYcgkosw048") + "="
	case "{TG}":
		return g.chars(1, "123456789") + g.chars(9, digit) + ":AA" + g.chars(33, urlish)
	case "{L}": // a line of a PEM file
		return g.chars(64, base)
	case "{CS}", "{CU}", "{CL}", "{CED}", "{CE}", "{CDT}", "{CTB}": // a card in groups
		n := g.card()
		if len(n) != 16 {
			return g.filled(mark)
		}
		if mark == "{CE}" || mark == "{CED}" {
			return n[:8] + map[string]string{"{CE}": " ", "{CED}": "-"}[mark] + n[8:]
		}
		return strings.Join([]string{n[:4], n[4:8], n[8:12], n[12:]}, map[string]string{"{CS}": "/", "{CU}": "_", "{CL}": "\n", "{CDT}": ".", "{CTB}": "\t"}[mark])
	case "{CAS}":
		n := "37" + g.chars(12, digit)
		n += luhnDigit(n)
		return n[:4] + "/" + n[4:10] + "/" + n[10:]
	case "{LP}", "{LD}", "{LA}": // a local part that has to be quoted
		return g.chars(5, lower) + map[string]string{"{LP}": " ", "{LD}": "..", "{LA}": "@"}[mark] + g.chars(7, lower)
	case "{S24}":
		return g.chars(24, lower+"012345")
	case "{DJ}":
		return "c" + g.chars(5, lower+digit) + "-" + g.chars(32, hexa)
	case "{K18}":
		return g.chars(16, alnum) + g.chars(2, digit)
	case "{R25}", "{R31}":
		return g.chars(atoi(mark[2:len(mark)-1])-2, lower+digit) + g.chars(1, lower) + g.chars(1, digit)
	case "{W20}":
		return g.chars(18, alnum) + g.chars(2, digit)
	case "{T16}":
		return g.chars(16, upper+"234567")
	case "{TS}":
		return strings.ToLower(g.chars(4, upper) + " " + g.chars(4, upper+"234567") + " " + g.chars(4, upper+"234567") + " " + g.chars(4, upper+"234567"))
	case "{TL}":
		return g.chars(30, lower+"234567") + "23"
	case "{N33}":
		return g.chars(3, "123456789") + " " + g.chars(3, "123456789")
	case "{N3D}":
		return g.chars(3, "123456789") + "-" + g.chars(3, "123456789")
	case "{RC}":
		return g.chars(3, hexa) + g.chars(1, digit) + "-" + g.chars(3, hexa) + g.chars(1, digit)
	case "{D44}":
		return g.chars(4, "123456789") + " " + g.chars(4, "123456789")
	case "{D8}":
		return g.chars(8, "123456789")
	case "{RK}":
		return g.chars(4, upper) + "-" + g.chars(4, upper+digit) + "-" + g.chars(4, upper+digit) + "-" + g.chars(4, upper+digit)
	case "{AK}":
		return "AKIA" + g.chars(16, upper+"234567")
	case "{A27}", "{A43}":
		return g.chars(atoi(mark[2:len(mark)-1]), alnum)
	case "{U8}":
		return g.chars(8, upper+"234567")
	case "{X10}":
		return g.chars(8, hexa) + g.chars(2, digit)
	case "{S12}":
		var words []string
		for range 12 {
			words = append(words, g.pick("abandon", "ability", "abstract", "accident", "acoustic", "balance", "bamboo", "cabbage", "canyon", "daring", "eagle", "fabric", "galaxy", "habit", "icon", "jungle", "kidney", "lemon", "magnet", "noodle", "ocean", "panther", "quantum", "ribbon", "salmon", "tiger", "umbrella", "velvet", "window", "zebra"))
		}
		return strings.Join(words, " ")
	case "{W3}":
		return g.pick("correct", "purple", "silent") + " " + g.pick("horse", "monkey", "river") + " " + g.pick("battery", "dishwasher", "staple")
	case "{Q}":
		return g.pick("open sesame", "value with quotes and spaces", "correct horse battery staple", "My dog ate 3 shoes!")
	case "{Y}":
		return "m{{" + g.chars(2, lower) + "}o)p${" + g.chars(1, lower) + "]nob(ody[" + g.chars(5, lower) + ">-_$#this" + g.chars(3, lower) + "}}"
	case "{U}":
		return g.pick("A,.:-¨@*¿?!", "Größe", "Ñandú", "Пароль") + g.chars(4, lower) + g.chars(2, digit)
	case "{M}":
		return g.chars(5, lower) + "." + g.chars(6, lower) + "%40" + g.chars(7, lower) + ".com"
	}
	panic("no mark " + mark)
}

func atoi(s string) (n int) {
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// checked is an identity number with its check digit.
func (g *generator) checked(country string) string {
	sum := func(n string, weight func(i int) int) (s int) {
		for i := range len(n) {
			s += int(n[i]-'0') * weight(i)
		}
		return s
	}
	switch country {
	case "IR":
		n := g.chars(1, "123456789") + g.chars(8, digit)
		c := sum(n, func(i int) int { return 10 - i }) % 11
		if c > 1 {
			c = 11 - c
		}
		return n + strconv.Itoa(c)
	case "KZ":
		for {
			n := "8" + g.chars(1, digit) + "0" + g.chars(1, "123456789") + "1" + g.chars(1, digit) + "3" + g.chars(4, digit)
			if c := sum(n, func(i int) int { return i + 1 }) % 11; c < 10 {
				return n + strconv.Itoa(c)
			}
		}
	case "AE":
		n := "784" + "19" + g.chars(2, digit) + g.chars(7, digit)
		n += luhnDigit(n)
		return n[:3] + "-" + n[3:7] + "-" + n[7:14] + "-" + n[14:]
	}
	n := "1" + g.chars(8, digit)
	return n + luhnDigit(n)
}
