// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Case is a string under a name, and what must not be left of it. The peers read the same cases (bench/redaction).
type Case struct {
	Set    string   `json:"set"`
	Kind   string   `json:"kind"` // entity, rule or wrapping
	Key    string   `json:"key"`
	Text   []byte   `json:"text"`
	Needle []string `json:"needle,omitempty"` // none of these may stand in the result; empty: the text must not change
	Joined bool     `json:"joined,omitempty"` // the text is a JSON array whose strings are one text
}

// left says whether something that had to go is still in the result.
func (c *Case) left(result string) bool {
	if c.Joined {
		var parts []string
		if json.Unmarshal([]byte(result), &parts) == nil {
			result = strings.Join(parts, "")
		}
	}
	for _, n := range c.Needle {
		if strings.Contains(result, n) {
			return true
		}
	}
	return false
}

// labelled reads the sets of testdata/redaction.
func labelled(dir string) (cases []Case, err error) {
	err = lines(filepath.Join(dir, "gitleaks-rule-samples.jsonl"), func(line []byte) error {
		var row struct {
			Rule, Kind string
			Text       string   `json:"text_b64"`
			Secrets    []string `json:"secrets_b64"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		if row.Kind != "tp" {
			return nil
		}
		text, err := base64.StdEncoding.DecodeString(row.Text)
		if err != nil {
			return err
		}
		c := Case{Set: "gitleaks samples", Kind: row.Rule, Text: text}
		for _, s := range row.Secrets {
			secret, err := base64.StdEncoding.DecodeString(s)
			if err != nil {
				return err
			}
			c.Needle = append(c.Needle, strings.Trim(string(secret), "\"' "))
		}
		cases = append(cases, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	structured := map[string]bool{"CREDIT_CARD": true, "EMAIL_ADDRESS": true, "IBAN_CODE": true, "IP_ADDRESS": true, "PHONE_NUMBER": true, "US_SSN": true}
	for _, name := range []string{"presidio-synth-v2-600.jsonl", "presidio-generated-small.jsonl"} {
		err = lines(filepath.Join(dir, name), func(line []byte) error {
			var row struct {
				Text  string `json:"full_text"`
				Spans []struct {
					Type  string `json:"entity_type"`
					Value string `json:"entity_value"`
				}
			}
			if err := json.Unmarshal(line, &row); err != nil {
				return err
			}
			benign := true
			for _, s := range row.Spans {
				if structured[s.Type] {
					cases = append(cases, Case{Set: "presidio", Kind: s.Type, Text: []byte(row.Text), Needle: []string{s.Value}})
					benign = false
				}
				benign = benign && s.Type != "US_DRIVER_LICENSE"
			}
			if benign {
				cases = append(cases, Case{Set: "presidio, nothing structured", Kind: "text", Text: []byte(row.Text)})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return cases, nil
}

func lines(path string, row func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for n := 1; s.Scan(); n++ {
		if err := row(s.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return s.Err()
}
