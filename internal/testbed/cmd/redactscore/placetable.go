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
	for text := range strings.SplitSeq(strings.TrimSpace(benignTexts), "\n") {
		for _, form := range []string{text, quote(map[string]string{"text": text}), "ok:\n" + text + "\n"} {
			all++
			if r.String("content", form, nil) != form {
				changed = append(changed, form)
			}
		}
	}
	return changed, all
}

// placesMarkdown measures kinds by place, for the document.
func placesMarkdown(seed uint64, verbose bool) (string, error) {
	r, gate, err := redactors()
	if err != nil {
		return "", err
	}
	written, held := scorePlaces(seed, r, gate, false), scorePlaces(seed, r, gate, true)
	if verbose {
		fmt.Println(strings.Join(append(written.wrong, held.wrong...), "\n"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| place | %d kinds that rules were written with | %d kinds held out |\n|---|---:|---:|\n", len(written.kinds), len(held.kinds))
	for _, name := range written.order {
		fmt.Fprintf(&b, "| %s | %.4f | %.4f |\n", name, written.places[name].rate(), held.places[name].rate())
	}
	fmt.Fprintf(&b, "| not split | %.4f | %.4f |\n", written.unsplit.rate(), held.unsplit.rate())
	fmt.Fprintf(&b, "| **all** (%d and %d values) | **%.4f** | **%.4f** |\n", written.all.cases, held.all.cases, written.all.rate(), held.all.rate())
	changed, all := scoreBenign(r)
	fmt.Fprintf(&b, "\nMade unparseable: %d. Found by the gate after redaction: %d. Benign texts that were changed: %d of %d.\n", written.broken+held.broken, written.gate+held.gate, len(changed), all)
	var weak []string
	for _, p := range []*placed{written, held} {
		for name, t := range p.kinds {
			if t.rate() < 0.9 {
				weak = append(weak, fmt.Sprintf("%s %d of %d", name, t.found, t.cases))
			}
		}
	}
	slices.Sort(weak)
	fmt.Fprintf(&b, "Kinds of which less than 0.9 is found: %s.\n", strings.Join(weak, "; "))
	return b.String(), nil
}
