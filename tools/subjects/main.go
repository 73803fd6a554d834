// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command subjects fails when the subject of a commit breaks the rule of CONTRIBUTING.md: at most 72
// characters, imperative, no full stop. It reads the commits since the rule began. Without that history it
// says so and passes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"unicode"
	"unicode/utf8"
)

// began is the newest commit that was made before the rule.
const began = "c96385b30e83f8ed2591aa6e14aa8e9928960957"

// longest is how many characters a subject has at most.
const longest = 72

// verbs are those that open most subjects. Their other forms are what the check refuses as a first word.
var verbs = strings.Fields(`add allow answer ask bound build call change check clean compare count cover cut decide delete
	derive document drop exclude explain extend extract find fix format give group guard handle hold implement improve
	include introduce join judge keep label limit look make mark measure mend merge move name open order pass pin print
	read record reduce refactor refuse reject remove rename render repair replace report return revert rewrite rework
	say serve set show simplify skip speed split start stop store support take tell test tidy try turn update upgrade
	use validate wrap write`)

func main() {
	root := flag.String("root", ".", "the repository")
	base := flag.String("base", began, "the commit behind which subjects are checked")
	flag.Parse()
	if err := run(*root, *base, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, base string, out io.Writer) error {
	if err := exec.Command("git", "-C", root, "cat-file", "-e", base+"^{commit}").Run(); err != nil {
		fmt.Fprintf(out, "no subject of a commit was checked: there is no history back to %.8s here\n", base)
		return nil
	}
	text, err := exec.Command("git", "-C", root, "log", "--no-merges", "--format=%h %s", base+"..HEAD").Output()
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	var bad []error
	checked := 0
	for line := range strings.Lines(string(text)) {
		hash, subject, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		checked++
		if why := wrong(subject); why != "" {
			bad = append(bad, fmt.Errorf("commit %s: %s: %q", hash, why, subject))
		}
	}
	fmt.Fprintf(out, "%d subjects of commits checked\n", checked)
	return errors.Join(bad...)
}

// wrong says what is wrong with a subject, or nothing.
func wrong(subject string) string {
	if n := utf8.RuneCountInString(subject); n > longest {
		return fmt.Sprintf("%d characters, more than %d", n, longest)
	}
	if strings.HasSuffix(subject, ".") {
		return "a full stop at the end"
	}
	word, _, more := strings.Cut(subject, " ")
	switch first, _ := utf8.DecodeRuneInString(word); {
	case !unicode.IsUpper(first):
		return "no capital letter at the beginning"
	case !more:
		return "one word says too little"
	}
	for _, verb := range verbs {
		if inflected(strings.ToLower(word), verb) {
			return fmt.Sprintf("%q is not imperative: %q", word, strings.ToUpper(verb[:1])+verb[1:])
		}
	}
	return ""
}

// inflected tells whether a word is the third person, the past or the participle of a regular verb.
func inflected(word, verb string) bool {
	stem := strings.TrimSuffix(verb, "e")
	doubled := verb + verb[len(verb)-1:] // stop, stopped
	if y, ok := strings.CutSuffix(verb, "y"); ok && (word == y+"ies" || word == y+"ied") {
		return true
	}
	switch word {
	case verb + "s", verb + "es", stem + "ed", verb + "ed", stem + "ing", verb + "ing", doubled + "ed", doubled + "ing":
		return true
	}
	return false
}
