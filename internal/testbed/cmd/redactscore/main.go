// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Redactscore measures what redaction finds and what it leaves alone, on labelled data:
//
//	go run ./internal/testbed/cmd/redactscore [-o docs] [-cases FILE] [-v]
//
// -o writes the tables into redaction.md and redaction-measured.md of that folder, and the lists of kinds and
// of sources beside them. -cases writes the cases for the peers in bench/redaction. -v prints every case that
// is wrong.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var o options
	flag.StringVar(&o.corpus, "corpus", "testdata/corpus", "folder of the recorded runs")
	flag.StringVar(&o.labelled, "labelled", "testdata/redaction", "folder of the labelled sets")
	flag.Uint64Var(&o.seed, "seed", 7, "seed of the generated set")
	flag.StringVar(&o.cases, "cases", "", "file to write the cases to, as JSON lines")
	flag.BoolVar(&o.verbose, "v", false, "print every case that is wrong")
	flag.StringVar(&o.documents, "o", "", "folder of the documents that show the tables between their marks")
	flag.StringVar(&o.only, "set", "", "this set only")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "redactscore:", err)
		os.Exit(1)
	}
}

type options struct {
	corpus, labelled, cases, only, documents string
	seed                                     uint64
	verbose                                  bool
}

func run(o options) error {
	cases, err := all(o)
	if err != nil {
		return err
	}
	if o.cases != "" {
		f, err := os.Create(o.cases)
		if err != nil {
			return err
		}
		enc := json.NewEncoder(f)
		for _, c := range cases {
			if err := enc.Encode(c); err != nil {
				return err
			}
		}
		return f.Close()
	}
	r, _, err := redactors()
	if err != nil {
		return err
	}
	t := newTable()
	for _, c := range cases {
		if o.only != "" && c.Set != o.only {
			continue
		}
		result := r.String(c.Key, string(c.Text), nil)
		if t.add(c, result) && o.verbose {
			fmt.Printf("%s\t%s\t%s\n\t%.300q\n\t%.300q\n\t%q\n", c.Set, c.Kind, c.Key, c.Text, result, c.Needle)
		}
	}
	places, kinds, err := placesMarkdown(o.seed, o.verbose && o.only == "")
	if err != nil {
		return err
	}
	if o.documents == "" {
		fmt.Print(t.markdown(), "\n", places, "\n", kinds)
		return nil
	}
	list, err := rules()
	if err != nil {
		return err
	}
	if err := embed(filepath.Join(o.documents, "redaction.md"), "rules", list); err != nil {
		return err
	}
	for name, text := range map[string]string{"redaction-kinds.md": kinds, "redaction-sources.md": sourcesMarkdown()} {
		if err := os.WriteFile(filepath.Join(o.documents, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	measured := filepath.Join(o.documents, "redaction-measured.md")
	if err := embed(measured, "places", places); err != nil {
		return err
	}
	return embed(measured, "score", t.markdown())
}

func all(o options) ([]Case, error) {
	cases, err := labelled(o.labelled)
	if err != nil {
		return nil, err
	}
	more, err := recorded(o.corpus)
	if err != nil {
		return nil, err
	}
	cases = append(cases, more...)
	return append(cases, generated(o.seed)...), nil
}
