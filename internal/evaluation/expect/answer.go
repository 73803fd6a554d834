// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Answer is what the final answer has to be. All of it that is there has to hold.
type Answer struct {
	Equals   *string  `yaml:"equals"` // but for white space around it
	Contains []string `yaml:"contains"`
	Matches  string   `yaml:"matches"` // a regular expression of RE2
	JSON     Values   `yaml:"json"`    // it is JSON, and its parts hold these rules
	Command  string   `yaml:"check"`   // a command
	// Scorer is one of experiments. It scores the answer against Reference, and MinScore is the least that
	// passes.
	Scorer    string   `yaml:"scorer"`
	Reference *string  `yaml:"reference"`
	MinScore  *float64 `yaml:"min_score"`

	pattern *regexp.Regexp
}

// Check reads what the file of a case holds.
func (a *Answer) Check() (err error) {
	if a == nil {
		return nil
	}
	if a.Equals == nil && len(a.Contains) == 0 && a.Matches == "" && a.JSON == nil && a.Command == "" && a.Scorer == "" {
		return errors.New("answer: want equals, contains, matches, json, check or scorer")
	}
	if a.Matches != "" {
		if a.pattern, err = regexp.Compile(a.Matches); err != nil {
			return fmt.Errorf("answer: matches: %w", err)
		}
	}
	if err := a.JSON.check(); err != nil {
		return fmt.Errorf("answer: json: %w", err)
	}
	return a.checkScorer()
}

func (a *Answer) checkScorer() error {
	if a.Scorer == "" {
		if a.Reference != nil || a.MinScore != nil {
			return errors.New("answer: reference and min_score belong to a scorer")
		}
		return nil
	}
	const names = "exact, structural, semantic, rouge1, check:COMMAND or exec:COMMAND"
	s, err := experiment.ParseScorer(a.Scorer, time.Minute, nil)
	switch {
	case err != nil || a.Scorer == "tools":
		return fmt.Errorf("answer: scorer is %.80q: want %s", a.Scorer, names)
	case s.Compares && a.Reference == nil:
		return fmt.Errorf("answer: scorer %s compares the answer with a reference, and there is none", a.Scorer)
	case a.MinScore != nil && !(*a.MinScore >= 0 && *a.MinScore <= 1):
		return fmt.Errorf("answer: min_score is %v: want 0 to 1", *a.MinScore)
	}
	return nil
}

// Commands tells whether it runs a command.
func (a *Answer) Commands() bool {
	return a != nil && (a.Command != "" || strings.Contains(a.Scorer, ":"))
}

// Judge lists what of it the answer of a run does not hold. An error says that a command could not be run.
func (a *Answer) Judge(ctx context.Context, r Run, o Options) (list []Failure, err error) {
	if a == nil {
		return nil, nil
	}
	fail := func(expected, found string) { list = append(list, Failure{"answer", cut(expected), cut(found)}) }
	if r.Answer == nil {
		fail("an answer", "none; what is no text has none")
		return list, nil
	}
	text := strings.TrimSpace(*r.Answer)
	plain := func(s string) string { return o.Rules.Apply("", "text", exactjson.StringValue(s)).Str() }
	if a.Equals != nil && plain(text) != plain(strings.TrimSpace(*a.Equals)) {
		fail(quoted(*a.Equals), quoted(text))
	}
	for _, part := range a.Contains {
		if !strings.Contains(text, part) {
			fail("that it contains "+quoted(part), quoted(text))
		}
	}
	if a.pattern != nil && !a.pattern.MatchString(text) {
		fail("a match of "+a.Matches, quoted(text))
	}
	if a.JSON != nil {
		v, err := exactjson.Parse(text)
		if err != nil {
			fail("JSON", quoted(text))
		} else if why := a.JSON.judge(v); why != "" {
			fail(a.JSON.String(), why)
		}
	}
	if a.Scorer != "" {
		expected, found, err := a.score(ctx, r, o)
		if err != nil {
			return list, err
		}
		if found != "" {
			fail(expected, found)
		}
	}
	if a.Command != "" {
		why, err := o.Command(ctx, a.Command)
		if err != nil {
			return list, err
		}
		if why != "" {
			list = append(list, Failure{"answer", "", why})
		}
	}
	return list, nil
}

// score asks the scorer; found is "" where the score is high enough.
func (a *Answer) score(ctx context.Context, r Run, o Options) (expected, found string, err error) {
	least, reference := 1.0, ""
	if a.MinScore != nil {
		least = *a.MinScore
	}
	if a.Reference != nil {
		reference = *a.Reference
	}
	s, err := experiment.ParseScorer(a.Scorer, o.Timeout, o.Env)
	if err != nil {
		return "", "", err
	}
	score, err := s.Against(ctx, r.Tape, reference, *r.Answer)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("answer: scorer %s: %w", a.Scorer, err)
	case score >= least:
		return "", "", nil
	}
	return fmt.Sprintf("a score of %s of %g or more", a.Scorer, least), fmt.Sprintf("%.3g: %s", score, quoted(*r.Answer)), nil
}
