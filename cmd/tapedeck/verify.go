// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/cmd/tapedeck/internal/timeline"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/derive"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/schema"
)

func newVerify() *cobra.Command {
	var r refs
	var asJSON, secrets bool
	var rules string
	cmd := &cobra.Command{
		Use:   "verify REF…",
		Short: "Check tapes and the files beside them",
		Long: `Check tapes: the schema, digests and hashes, references and order, the proof, and
that the files beside a tape are the ones it names. All problems are listed.

` + refHelp + `A deck stands for all its current tapes.

With --secrets, everything that a REF stands for is searched once more for what
redaction should have replaced; places and rules are printed, never values.

The exit code is 0 if every tape is consistent, 1 if a check failed, 2 if a tape
could not be loaded or there was none.`,
		Example: `  tapedeck verify ./deck
  tapedeck verify ./tape.json s3://tapes/prod/runs/default/4b/…/tape.json
  tapedeck verify 4bf92f35 --deck ./deck --json | jq .problems`,
		Args: needArgs("at least one REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := &verification{refs: &r, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), asJSON: asJSON}
			var gate *derive.Gate
			if secrets {
				var err error
				if gate, err = (&storeFlags{redact: rules}).gate(); err != nil {
					return err
				}
				if gate == nil {
					return errors.New("--redact off leaves nothing to search for")
				}
			} else if cmd.Flags().Changed("redact") {
				return errors.New("--redact goes with --secrets")
			}
			for _, ref := range args {
				if secrets {
					if err := c.secrets(cmd.Context(), ref, gate); err != nil {
						return err
					}
					continue
				}
				if err := c.run(cmd.Context(), ref); err != nil {
					return err
				}
			}
			if c.code != exitOK {
				return &exitError{code: c.code}
			}
			return nil
		},
	}
	r.add(cmd, "ID")
	cmd.Flags().BoolVar(&secrets, "secrets", false, "search for secrets and personal data instead: files, evidence and, of a deck, everything in it")
	cmd.Flags().StringVar(&rules, "redact", redact.PolicyDefault, `with --secrets, what to search for: "default", "strict" or a file with rules`)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON per tape")
	return cmd
}

// verification is one call of verify. It holds one tape at a time.
type verification struct {
	refs           *refs
	stdout, stderr io.Writer
	asJSON         bool
	code           int
}

// run checks what one REF stands for. An error is a failure of stdout or a cancelled context; everything else is in the code.
func (c *verification) run(ctx context.Context, ref string) error {
	for at, err := range c.refs.resolve(ctx, ref, wholeDeck) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.worst(exitFailed)
			complain(c.stderr, err)
			continue
		}
		if err := c.check(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

func (c *verification) worst(code int) { c.code = max(c.code, code) }

// verdict is the line about one tape. The order of its fields is part of the contract.
type verdict struct {
	URL      string     `json:"url"`
	RunID    string     `json:"run_id,omitempty"`
	TraceID  string     `json:"trace_id,omitempty"`
	TapeID   string     `json:"tape_id,omitempty"`
	Grade    tape.Grade `json:"grade,omitempty"`
	Events   int        `json:"events"`
	OK       bool       `json:"ok"`
	Proof    *proof     `json:"proof,omitempty"`
	Problems []problem  `json:"problems"`
	Error    string     `json:"error,omitempty"` // why it cannot be loaded
}

type problem struct {
	Code   string `json:"code"`
	Path   string `json:"path"`
	Detail string `json:"detail"`
}

func (c *verification) check(ctx context.Context, at location) error {
	v := verdict{URL: at.ref.URL, Problems: []problem{}}
	t, files, err := load(ctx, at)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		c.worst(exitFailed)
		complain(c.stderr, err)
		v.Error = err.Error()
		return c.report(v)
	}
	v.RunID, v.TraceID, v.TapeID, v.Grade, v.Events = t.Run.RunID, t.Run.TraceID, t.TapeID, t.Fidelity.Grade, len(t.Events)
	problems := append(place(at, t), tape.Verify(t, files, schema.Check, oracle.Check)...)
	for _, p := range problems {
		if p.Code == tape.ProblemFile && files[p.Path] == nil && !at.ref.InDeck() {
			say(c.stderr, "%s: %s is not beside it and was not checked", at, p.Path)
			continue
		}
		v.Problems = append(v.Problems, problem{p.Code, p.Path, p.Detail})
	}
	v.Proof = proofOf(t.Fidelity.Proof)
	v.OK = len(v.Problems) == 0
	if !v.OK {
		c.worst(exitPartial)
	}
	return c.report(v)
}

// place checks that a tape lies where the deck says it does.
func place(at location, t *tape.Tape) []tape.Problem {
	if !at.ref.InDeck() {
		return nil
	}
	var problems []tape.Problem
	if at.ref.RunID() != t.Run.RunID {
		problems = append(problems, tape.Problem{Code: problemPlace, Path: "run.run_id", Detail: "the tape lies in the place of " + at.ref.RunID()})
	}
	if deck.SafeName(t.Run.Tenant) != at.ref.Place.Tenant { // a place read from a key holds the form that is in the key
		problems = append(problems, tape.Problem{Code: problemPlace, Path: "run.tenant", Detail: "the tape lies in the place of another tenant"})
	}
	return problems
}

// problemPlace is the code of a tape that lies in the wrong place, beside those of package tape.
const problemPlace = "place"

// load reads a tape and the files beside it. A file that is not there is left out; tape.Verify reports it.
func load(ctx context.Context, at location) (*tape.Tape, map[string][]byte, error) {
	data, err := at.read(ctx, at.ref.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", at, err)
	}
	return loadWith(ctx, at, data)
}

// loadWith is load with the bytes of the tape.
func loadWith(ctx context.Context, at location, data []byte) (*tape.Tape, map[string][]byte, error) {
	t, err := tape.Read(data) // what is wrong with it is to be listed
	if err != nil {
		return nil, nil, notATape(at, data, err)
	}
	names, err := at.beside(ctx, t)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", at, err)
	}
	files := map[string][]byte{tape.TapeFile: data}
	for _, name := range names {
		content, err := at.read(ctx, at.sibling(name))
		switch {
		case errors.Is(err, deck.ErrNotFound):
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %s: %w", at, name, err)
		default:
			files[name] = content
		}
	}
	return t, files, nil
}

// beside lists the files to read beside a tape: those that it names, and in a deck also those that are there. Elsewhere the folder may be
// anybody's, and only an oracle file is looked for.
func (l location) beside(ctx context.Context, t *tape.Tape) ([]string, error) {
	names := []string{tape.OracleFile}
	for _, m := range t.SiblingDigests().Members() {
		if !strings.ContainsAny(m.Name, `/\`) && deck.CheckKey(m.Name) == nil {
			names = append(names, m.Name)
		}
	}
	if l.ref.InDeck() {
		folder := path.Dir(l.ref.Key) + "/"
		for object, err := range l.store.List(ctx, folder) {
			if err != nil {
				return nil, err
			}
			names = append(names, strings.TrimPrefix(object.Key, folder))
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == tape.TapeFile }), nil
}

func (c *verification) report(v verdict) error {
	var b bytes.Buffer
	switch {
	case c.asJSON:
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
	case v.Error != "":
		return nil // said on stderr
	case v.OK:
		// ok is about what the tape claims. A proof that failed, or that found nothing to verify, is no ok of the run.
		verdict := "ok"
		switch p := v.Proof; {
		case p.OK != nil && !*p.OK:
			verdict = "unproved"
		case p.unproved():
			verdict = "unverified"
		}
		fmt.Fprintf(&b, "%s %s %s %d events", verdict, oneLine(v.RunID), oneLine(string(v.Grade)), v.Events)
		if v.Proof.Expected > 0 {
			fmt.Fprintf(&b, ", verified %d of %d tool calls", v.Proof.Verified, v.Proof.Expected)
		}
		b.WriteString("\n")
	default:
		fmt.Fprintf(&b, "failed %s %s %d problems\n", oneLine(v.RunID), oneLine(string(v.Grade)), len(v.Problems))
		for _, p := range v.Problems {
			fmt.Fprintf(&b, "  %s %s: %s\n", p.Code, oneLine(p.Path), oneLine(p.Detail))
		}
	}
	_, err := c.stdout.Write(b.Bytes())
	return err
}

// oneLine makes text of a tape safe for a terminal.
func oneLine(s string) string { return strings.ReplaceAll(timeline.Clean(s), "\n", "⏎") }
