// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/schema"
)

// Verdict is the line about one tape. The order of its fields is part of the contract.
type Verdict struct {
	URL      string     `json:"url"`
	RunID    string     `json:"run_id,omitempty"`
	TraceID  string     `json:"trace_id,omitempty"`
	TapeID   string     `json:"tape_id,omitempty"`
	Grade    tape.Grade `json:"grade,omitempty"`
	Events   int        `json:"events"`
	OK       bool       `json:"ok"`
	Proof    *Proof     `json:"proof,omitempty"`
	Problems []Problem  `json:"problems"`
	Error    string     `json:"error,omitempty"` // why it cannot be loaded
}

// Problem is one line of a Verdict.
type Problem struct {
	Code   string `json:"code"`
	Path   string `json:"path"`
	Detail string `json:"detail"`
}

// Verify checks a tape and the files beside it. An error is a cancelled context; a tape that cannot be loaded is one whose Verdict says so.
// With keys it also has to be signed by one of them.
func Verify(ctx context.Context, at Location, keys signature.Keys, warn func(format string, args ...any)) (Verdict, error) {
	t, files, err := at.load(ctx)
	var unsigned []Problem
	if err == nil && keys != nil {
		unsigned, err = at.signatures(ctx, t, files, keys, warn)
	}
	v := Verdict{URL: at.Ref.URL, Problems: []Problem{}}
	switch {
	case ctx.Err() != nil:
		return v, ctx.Err()
	case err != nil:
		v.Error = err.Error()
		return v, nil
	}
	unread, err := at.evidence(ctx)
	if ctx.Err() != nil {
		return v, ctx.Err()
	}
	if err != nil {
		v.Error = err.Error()
		return v, nil
	}
	v.conclude(t, at.problems(t, files, at.String(), warn), append(unread, unsigned...))
	return v, nil
}

// conclude fills in what is known of a tape that could be loaded.
func (v *Verdict) conclude(t *tape.Tape, problems []tape.Problem, more []Problem) {
	v.RunID, v.TraceID, v.TapeID, v.Grade, v.Events = t.Run.RunID, t.Run.TraceID, t.TapeID, t.Fidelity.Grade, len(t.Events)
	for _, p := range problems {
		v.Problems = append(v.Problems, Problem{p.Code, p.Path, p.Detail})
	}
	v.Problems = append(v.Problems, more...)
	v.Proof = proofOf(t.Fidelity.Proof)
	v.OK = len(v.Problems) == 0
}

// VerifyContent checks a tape that a row of a reel holds, with the files beside it and parts of its evidence.
// It is Verify without signatures. Without a body the evidence alone is checked.
func VerifyContent(tenant, traceID string, body []byte, files []deck.File, parts [][]byte) Verdict {
	v := Verdict{Problems: []Problem{}}
	for _, part := range parts {
		if p := unreadable(deck.PartDigest(part), part); p != nil {
			v.Problems = append(v.Problems, *p)
		}
	}
	if v.OK = len(v.Problems) == 0; len(body) == 0 {
		return v
	}
	t, err := tape.Read(body)
	if err != nil {
		v.Error, v.OK = err.Error(), false
		return v
	}
	beside := map[string][]byte{tape.TapeFile: body}
	for _, f := range files {
		if f.Name != tape.TapeFile { // which is checked as it came
			beside[f.Name] = f.Body
		}
	}
	problems := tape.Verify(t, beside, schema.Check, oracle.Check)
	if t.Run.TraceID != traceID || t.Run.Tenant != tenant {
		problems = append(problems, tape.Problem{Code: problemPlace, Path: "run.trace_id", Detail: "the tape lies in the row of another trace"})
	}
	v.conclude(t, problems, nil)
	return v
}

// problems are those of a tape. A file that it names need not lie beside it outside of a deck; that it was not checked is said of name.
func (l Location) problems(t *tape.Tape, files map[string][]byte, name string, warn func(format string, args ...any)) []tape.Problem {
	return slices.DeleteFunc(append(misplaced(l, t), tape.Verify(t, files, schema.Check, oracle.Check)...), func(p tape.Problem) bool {
		absent := p.Code == tape.ProblemFile && files[p.Path] == nil && !l.Ref.InDeck()
		if absent {
			warn("%s: %s is not beside it and was not checked", name, p.Path)
		}
		return absent
	})
}

// Text is the verdict for a person, with a short id; nothing for a tape that could not be loaded.
func (v *Verdict) Text(ids *deck.ShortIDs) []byte {
	var b bytes.Buffer
	switch {
	case v.Error != "":
	case v.OK:
		// ok is about what the tape claims. A proof that failed, or that found nothing to verify, is no ok of the run.
		verdict := "ok"
		switch p := v.Proof; {
		case p.OK != nil && !*p.OK:
			verdict = "unproved"
		case p.unproved():
			verdict = "unverified"
		}
		fmt.Fprintf(&b, "%s %s %s %d events", verdict, timeline.OneLine(ids.Of(v.RunID)), timeline.OneLine(string(v.Grade)), v.Events)
		if v.Proof.Expected > 0 {
			fmt.Fprintf(&b, ", %s", v.Proof.counts(" tool calls"))
		}
		b.WriteString("\n")
	default:
		fmt.Fprintf(&b, "failed %s %s %d problems\n", timeline.OneLine(ids.Of(v.RunID)), timeline.OneLine(string(v.Grade)), len(v.Problems))
		for _, p := range v.Problems {
			fmt.Fprintf(&b, "  %s %s: %s\n", p.Code, timeline.OneLine(p.Path), timeline.OneLine(p.Detail))
		}
	}
	return b.Bytes()
}

// misplaced checks that a tape lies where the deck says it does.
func misplaced(at Location, t *tape.Tape) []tape.Problem {
	if !at.Ref.InDeck() {
		return nil
	}
	var problems []tape.Problem
	if at.Ref.RunID() != t.Run.RunID {
		problems = append(problems, tape.Problem{Code: problemPlace, Path: "run.run_id", Detail: "the tape lies in the location of " + at.Ref.RunID()})
	}
	if deck.SafeName(t.Run.Tenant) != at.Ref.Location.Tenant { // a location read from a key holds the form that is in the key
		problems = append(problems, tape.Problem{Code: problemPlace, Path: "run.tenant", Detail: "the tape lies in the location of another tenant"})
	}
	return problems
}

// problemPlace is the code of a tape that lies in the wrong location, beside those of package tape.
const problemPlace = "place"

// load reads a tape and the files beside it. A file that is not there is left out; tape.Verify reports it.
func (l *Location) load(ctx context.Context) (t *tape.Tape, files map[string][]byte, err error) {
	err = l.Reading(ctx, func() error {
		t, files = nil, nil
		data, err := l.Read(ctx, l.Ref.Key)
		if err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
		t, files, err = l.LoadWith(ctx, data)
		return err
	})
	if t != nil && errors.Is(err, deck.ErrNotFound) {
		err = nil
	}
	return t, files, err
}

// LoadWith reads the files beside a tape whose bytes are data. If a file is not there, the error wraps deck.ErrNotFound and all other files
// come.
func (l Location) LoadWith(ctx context.Context, data []byte) (*tape.Tape, map[string][]byte, error) {
	t, err := tape.Read(data) // what is wrong with it is to be listed
	if err != nil {
		return nil, nil, notATape(l, data, err)
	}
	names, err := l.Beside(ctx, t)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", l, err)
	}
	var missing error
	files := map[string][]byte{tape.TapeFile: data}
	for _, name := range names {
		content, err := l.Read(ctx, l.Sibling(name))
		switch {
		case errors.Is(err, deck.ErrNotFound):
			missing = fmt.Errorf("%s: %s: %w", l, name, err)
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %s: %w", l, name, err)
		default:
			files[name] = content
		}
	}
	return t, files, missing
}

// Beside lists the files to read beside a tape: those that it names, and in a deck also those that are there. Elsewhere the folder may be
// anybody's, and only an oracle file is looked for.
func (l Location) Beside(ctx context.Context, t *tape.Tape) ([]string, error) {
	names := []string{tape.OracleFile}
	for _, m := range t.SiblingDigests().Members() {
		if !strings.ContainsAny(m.Name, `/\`) && deck.CheckKey(m.Name) == nil {
			names = append(names, m.Name)
		}
	}
	if l.Ref.InDeck() {
		folder := path.Dir(l.Ref.Key) + "/"
		for object, err := range l.Store.List(ctx, folder) {
			if err != nil {
				return nil, err
			}
			names = append(names, strings.TrimPrefix(object.Key, folder))
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		_, isSignature := signature.KeyOf(name) // the tape cannot name what signs it
		return isSignature || name == tape.TapeFile
	}), nil
}
