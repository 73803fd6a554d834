// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/redact/detect"
)

// redactors returns the redactor of the default profile, and the rules of the gate.
func redactors() (r, gate *redact.Redactor, err error) {
	key, err := redact.NewKey([]byte("the key of the score, which is no secret"), "")
	if err != nil {
		return nil, nil, err
	}
	if r, err = redact.New(redact.Default().WithKey(key)); err != nil {
		return nil, nil, err
	}
	profile := redact.Default()
	for _, rule := range r.Rules() {
		if rule.Class == detect.Guess {
			profile.Disable = append(profile.Disable, rule.Name)
		}
	}
	gate, err = redact.New(profile)
	return r, gate, err
}

// scoreBenign returns the benign texts that redaction changes: as they are, in JSON, as a line of others.
func scoreBenign(r *redact.Redactor) (changed []string, all int) {
	texts := append(strings.Split(strings.TrimSpace(benignTexts), "\n"), generatedBenign(benignKinds, 7, 20)...)
	texts = append(append(texts, generatedBenign(benignFourth, 7, 20)...), generatedBenign(benignSixth, 7, 20)...)
	texts = append(append(texts, generatedBenign(benignSeventh, 7, 20)...), generatedBenign(slices.Concat(benignEighth, benignAfterEighth), 7, 25)...)
	texts = append(texts, benignLines(benignNinth, 7, 5)...)
	for _, text := range texts {
		for _, form := range []string{text, quote(map[string]string{"text": text}), "ok:\n" + text + "\n"} {
			all++
			if r.String("content", form, nil) != form {
				changed = append(changed, form)
			}
		}
	}
	return changed, all
}

// setNames head the columns of the table.
var setNames = [sets]string{"first set", "of it held out", "second set", "of it held out", "third set", "fourth set", "of it held out", "fifth set", "sixth set", "of it held out", "seventh set",
	"of it held out", "eighth set", "of it held out", "ninth set", "of it held out"}

// placesMarkdown measures kinds by place, for the document, and returns the list of kinds besides.
func placesMarkdown(seed uint64, verbose bool) (table, list string, err error) {
	r, gate, err := redactors()
	if err != nil {
		return "", "", err
	}
	var of [sets]*placed
	var b strings.Builder
	row := func(name, format string, cell func(p *placed) any) {
		b.WriteString("| " + name)
		for _, p := range of {
			fmt.Fprintf(&b, " | "+format, cell(p))
		}
		b.WriteString(" |\n")
	}
	for i := range of {
		of[i] = scorePlaces(seed, r, gate, set(i))
		if verbose {
			fmt.Println(strings.Join(of[i].wrong, "\n"))
		}
	}
	b.WriteString("| place")
	for i, p := range of {
		fmt.Fprintf(&b, " | %s, %d kinds", setNames[i], len(p.kinds))
	}
	b.WriteString(" |\n|---" + strings.Repeat("|---:", int(sets)) + "|\n")
	for _, name := range of[0].order {
		row(name, "%.4f", func(p *placed) any { return p.places[name].rate() })
	}
	row("not split", "%.4f", func(p *placed) any { return p.unsplit.rate() })
	row("**all**", "**%.4f**", func(p *placed) any { return p.all.rate() })
	row("values", "%d", func(p *placed) any { return p.all.cases })
	changed, all := scoreBenign(r)
	var broken, caught int
	var weak, kinds int
	for _, p := range of {
		broken, caught = broken+p.broken, caught+p.gate
		for _, t := range p.kinds {
			kinds++
			if t.rate() < 0.9 {
				weak++
			}
		}
	}
	fmt.Fprintf(&b, "\nMade unparseable: %d. Found by the gate after redaction: %d. Benign texts that were changed: %d of %d.\n", broken, caught, len(changed), all)
	fmt.Fprintf(&b, "Less than 0.9 is found of %d of the %d kinds; [the list of kinds](redaction-kinds.md) has a * at each of them.\n", weak, kinds)
	return b.String(), kindsMarkdown(of), nil
}

// kindsMarkdown lists every kind with what is found of it and where it is not.
func kindsMarkdown(of [sets]*placed) string {
	var b strings.Builder
	b.WriteString("# What redaction finds of each kind\n\nThis page lists every kind of secret that redaction was measured with, what is found of it and where it is not found.\n" +
		"Places and sets are those of [the measurement](redaction-measured.md). A kind without a form of its own is not claimed where its value stands alone:\n" +
		"it is found beside its name only. A * marks a kind of which less than 0.9 is found. Made by `make redact-score`.\n\n" +
		"| kind | set | claimed without its name | found | not found in |\n|---|---|---|---:|---|\n")
	kinds := kindsOf()
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	for _, k := range kinds {
		p := of[k.set()]
		claimed := "no"
		if k.form || k.text != "" {
			claimed = "yes"
		}
		t, weak := p.kinds[k.name], ""
		if t.rate() < 0.9 {
			weak = " *"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d of %d%s | %s |\n", k.name, setNames[k.set()], claimed, t.found, t.cases, weak, strings.Join(p.missed[k.name], ", "))
	}
	return b.String()
}

// sourcesMarkdown lists every rule with where its facts are from.
func sourcesMarkdown() string {
	var b strings.Builder
	b.WriteString("# Where the rules of redaction are from\n\nThis page names every rule of [redaction](redaction.md#what-is-found) and the source of its facts. Made by `make redact-score`.\n\n" +
		"Forms of keys are facts: a prefix, an alphabet, a length, check digits. They are taken from what services publish and from the rules of public scanners.\n" +
		"The expressions are our own, but for the section `gitleaks`, which is generated from that project's configuration (MIT licence).\n\n")
	version, published := detect.PublishedRules()
	var instead []string
	for _, p := range published {
		if p.By != "" {
			instead = append(instead, fmt.Sprintf("| `%s` | `%s` |\n", p.ID, p.By))
		}
	}
	slices.Sort(instead)
	fmt.Fprintf(&b, "Other detectors do the work of %d rules of gitleaks %s, and `pkcs12-file` looks at file names only:\n\n| rule of gitleaks | done by |\n|---|---|\n%s\n",
		len(instead), version, strings.Join(instead, ""))
	b.WriteString("| rule | section | class | source |\n|---|---|---|---|\n")
	for _, r := range detect.Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, r.Section, r.Class, strings.ReplaceAll(detect.Source(r.Name), "|", "\\|"))
	}
	return b.String()
}
