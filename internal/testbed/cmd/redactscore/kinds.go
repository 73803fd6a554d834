// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp/syntax"
	"strings"
)

// kind is something that has to go, as it is made anew for every place.
type kind struct {
	name, label string
	form        bool                      // it is recognised without a name
	popular     bool                      // many use the service
	table       int                       // 1, 2 or 3: which set of tables it is of
	text        string                    // for what only its own text makes a secret: the text around value
	value       func(g *generator) string // what must not be left
}

// kindsOf returns the kinds of the tables.
func kindsOf() (kinds []kind) {
	for i, t := range [][3]string{{vendorKinds, personKinds, textKinds}, {secondVendor, secondPerson, secondText}, {thirdVendor, thirdPerson, thirdText},
		{fourthVendor, fourthPerson, fourthText}, {fifthVendor, fifthPerson, fifthText}, {sixthVendor, sixthPerson, sixthText},
		{seventhVendor, seventhPerson, seventhText}, {eighthVendor, eighthPerson, eighthText}, {"", "", ninthPromised + ninthText}} {
		for _, k := range tables(t[0], t[1], t[2]) {
			k.table = i + 1
			if k.table == 9 { // the other marks of a text are values too
				k.text = aMark.ReplaceAllStringFunc(k.text, newGenerator(uint64(len(k.name))).filled)
			}
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func tables(vendors, persons, texts string) (kinds []kind) {
	for line := range strings.SplitSeq(strings.TrimSpace(vendors), "\n") {
		if line == "" {
			continue
		}
		name, pattern, _ := strings.Cut(line, " ")
		name, popular := strings.CutSuffix(name, "+")
		label, form := strings.CutSuffix(name, "!")
		re, err := syntax.Parse(strings.TrimSpace(pattern), syntax.Perl)
		if err != nil {
			panic(err) // the table is part of the program
		}
		kinds = append(kinds, kind{name: label, label: strings.ToLower(strings.ReplaceAll(label, "_", " ")), form: form, popular: popular, value: func(g *generator) string {
			var b strings.Builder
			g.match(&b, re.Simplify())
			return b.String()
		}})
	}
	for line := range strings.SplitSeq(strings.TrimSpace(persons), "\n") {
		if line == "" {
			continue
		}
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		kinds = append(kinds, kind{name: cells[0], label: cells[1], value: func(g *generator) string {
			v := g.pick(cells[2:]...)
			if aMark.MatchString(v) {
				v = g.filled(v)
			}
			return v
		}})
	}
	for line := range strings.SplitSeq(strings.TrimSpace(texts), "\n") {
		if line == "" {
			continue
		}
		name, text, _ := strings.Cut(line, "|")
		text = strings.NewReplacer(`\\n`, `\n`, `\n`, "\n").Replace(strings.TrimPrefix(text, " "))
		marks := aMark.FindAllStringIndex(text, -1)
		at := marks[len(marks)-1]
		if strings.Contains(name, "putty") || strings.Contains(name, "mail in url") { // the others are there to look like it
			at = marks[0]
		}
		mark := text[at[0]:at[1]]
		text = text[:at[0]] + "\x00" + text[at[1]:]
		kinds = append(kinds, kind{name: strings.TrimSpace(name), text: text, value: func(g *generator) string { return g.filled(mark) }})
	}
	return kinds
}
