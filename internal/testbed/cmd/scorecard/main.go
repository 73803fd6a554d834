// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Scorecard compares the tapes that are made from the recorded runs with what really happened, and prints docs/scorecard.md:
//
//	go run ./internal/testbed/cmd/scorecard [-corpus testdata/corpus] [-drawn testdata/drawn] [-o docs/scorecard.md] [-readme README.md]
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
)

//go:generate go run . -corpus ../../../../testdata/corpus -drawn ../../../../testdata/drawn -o ../../../../docs/scorecard.md -readme ../../../../README.md

func main() {
	corpus := flag.String("corpus", "testdata/corpus", "folder of the recorded runs")
	archives := flag.String("drawn", "testdata/drawn", "folder of the archives of runs drawn anew")
	out := flag.String("o", "", "file to write instead of stdout")
	readme := flag.String("readme", "", "document that shows the total between its marks")
	list := flag.Bool("list", false, "print a line for each value of a mutated run that is not right, instead of the document")
	pairs := flag.Int("pairs", 0, "with -list: two mutations one after the other, each pair on one run in so many")
	only := flag.String("only", "", "with -list: the mutations whose name holds this text")
	score := flag.String("score", "", "score the recordings below this folder instead, by group; with -list each value that is not right too")
	rules := flag.Int("rules", 0, "with -score: the table of rules instead, each mutation on one run in so many")
	flag.Parse()
	var err error
	switch {
	case *score != "" && *rules > 0:
		err = judgeRecordings(os.Stdout, *score, *rules)
	case *score != "":
		err = scoreRecordings(os.Stdout, *score, *list)
	default:
		err = write(*corpus, *archives, *out, *readme, *list, *pairs, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scorecard:", err)
		os.Exit(1)
	}
}

func write(corpus, archives, out, readme string, list bool, pairs int, only string) error {
	runs, err := groundtruth.Corpus(corpus)
	if err != nil {
		return err
	}
	if list && pairs > 0 {
		for _, m := range named(groundtruth.Pairs(), only) {
			if err := listMutated(os.Stdout, []groundtruth.Mutation{m}, drawn(m, runs, pairs)); err != nil {
				return err
			}
		}
		return nil
	}
	if list {
		return listMutated(os.Stdout, named(groundtruth.Mutations, only), runs)
	}
	text, err := document(runs)
	if err != nil {
		return err
	}
	mutated, err := mutations(runs)
	if err != nil {
		return err
	}
	rules, err := rulesOn(archives, runs)
	if err != nil {
		return err
	}
	text += mutated + rules
	if readme != "" {
		body, err := os.ReadFile(readme)
		if err != nil {
			return err
		}
		shown, err := embed(text, string(body))
		if err != nil {
			return fmt.Errorf("%s: %w", readme, err)
		}
		if err := os.WriteFile(readme, []byte(shown), 0o644); err != nil {
			return err
		}
	}
	if out == "" {
		_, err = os.Stdout.WriteString(text)
		return err
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

// rulesOn renders the section on rules with the runs of a folder of archives.
func rulesOn(archives string, corpus []groundtruth.Run) (string, error) {
	to, err := os.MkdirTemp("", "scorecard")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(to) // nothing but copies lies there
	anew, err := groundtruth.Archived(archives, to)
	if err != nil {
		return "", err
	}
	return rulesSection(anew, corpus)
}

// named are the mutations whose name holds a text.
func named(all []groundtruth.Mutation, text string) []groundtruth.Mutation {
	return slices.DeleteFunc(slices.Clone(all), func(m groundtruth.Mutation) bool { return !strings.Contains(m.Name, text) })
}
