// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/runner"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/replay/procgroup"
	"github.com/tapedeck/tapedeck/tape"
)

// Scorer gives the recorded and the replayed answer of a run a number from 0 to 1 each.
type Scorer struct {
	Name string
	// Compares is set for a scorer that says how alike the two are: the recorded answer then has 1, and no run can become better.
	Compares bool
	score    func(ctx context.Context, c contract.ScoreCase) (original, replayed float64, err error)
	costly   func(ctx context.Context, c contract.ScoreCase) (original, replayed float64, cost Cost, err error) // instead of score
	check    func(ctx context.Context, c contract.ScoreCase) (replayed float64, said string, err error)         // instead of score
}

// Against scores the answer of a run against a reference, which stands in the place of a recorded answer.
func (s *Scorer) Against(ctx context.Context, t *tape.Tape, reference, answer string) (float64, error) {
	input, err := traceInput(t)
	if err != nil { // nobody knows what was asked: the answer can be scored all the same
		input.Metadata = map[string]any{"run_id": t.Run.RunID, "trace_id": t.Run.TraceID}
	}
	spans := ToolSpans(t)
	score, err := s.of(ctx, contract.ScoreCase{
		TraceID: t.Run.TraceID, Input: input, Metadata: map[string]any{},
		Original: contract.TraceOutput{Text: reference, ToolSpans: spans},
		Replayed: contract.ReplayOutput{Text: answer, ToolSpans: spans, Metadata: map[string]json.RawMessage{}},
	})
	return score.Replayed, err
}

// of scores a case.
func (s *Scorer) of(ctx context.Context, c contract.ScoreCase) (score Score, err error) {
	score.Scorer = s.Name
	switch {
	case s.costly != nil:
		var cost Cost
		score.Original, score.Replayed, cost, err = s.costly(ctx, c)
		score.Cost = &cost
	case s.check != nil:
		score.Replayed, score.Said, err = s.check(ctx, c)
	default:
		score.Original, score.Replayed, err = s.score(ctx, c)
	}
	if err != nil {
		score = Score{Scorer: s.Name, Failed: err.Error(), Cost: score.Cost}
	}
	return score, err
}

// Recorded scores the recorded answer of a run, which stands in the case for the replayed one too.
func (s *Scorer) Recorded(ctx context.Context, t *tape.Tape) (Score, error) {
	if s.Compares {
		return Score{}, fmt.Errorf("%s says how alike two answers are, and there is one", s.Name)
	}
	input, err := traceInput(t)
	if err != nil {
		return Score{}, err
	}
	original := traceOutput(t)
	return s.of(ctx, contract.ScoreCase{TraceID: t.Run.TraceID, Input: input, Original: original, Replayed: contract.ReplayOutput{Text: original.Text, ToolSpans: original.ToolSpans}})
}

// maxScore bounds what a command says, in bytes.
const maxScore = 1 << 20

// ParseScorer reads the name of a scorer: exact, structural, semantic, rouge1, tools, or check:COMMAND and
// exec:COMMAND, which get the environment env; nil is that of this program.
func ParseScorer(name string, timeout time.Duration, env []string) (Scorer, error) {
	like := func(of func(c *contract.ScoreCase) float64) Scorer {
		return Scorer{Name: name, Compares: true, score: func(_ context.Context, c contract.ScoreCase) (float64, float64, error) { return 1, of(&c), nil }}
	}
	switch {
	case name == "exact":
		return like(func(c *contract.ScoreCase) float64 {
			if c.Original.Text == c.Replayed.Text {
				return 1
			}
			return 0
		}), nil
	case name == "semantic":
		return like(func(c *contract.ScoreCase) float64 { return aiwg.TokenCosine.Of(c.Original.Text, c.Replayed.Text) }), nil
	case name == "rouge1":
		return like(func(c *contract.ScoreCase) float64 { return rouge1(c.Original.Text, c.Replayed.Text) }), nil
	case name == "structural":
		return like(func(c *contract.ScoreCase) float64 {
			if c.Original.Text == c.Replayed.Text || aiwg.SameShape(c.Original.Text, c.Replayed.Text) {
				return 1
			}
			return 0
		}), nil
	case name == "tools":
		return like(func(c *contract.ScoreCase) float64 {
			return alike(names(c.Original.ToolSpans), names(c.Replayed.ToolSpans))
		}), nil
	}
	kind, text, _ := strings.Cut(name, ":")
	if kind == "exec" || kind == "check" {
		argv, err := words(text)
		if err != nil {
			return Scorer{}, fmt.Errorf("scorer %q: %w", name, err)
		}
		c := command{argv: argv, timeout: timeout, env: env}
		if kind == "check" {
			return Scorer{Name: name, score: c.passesBoth}, nil
		}
		return Scorer{Name: name, score: c.score}, nil
	}
	return Scorer{}, fmt.Errorf("scorer %q is unknown: want exact, structural, semantic, rouge1, tools, judge, check:COMMAND or exec:COMMAND", name)
}

func names(spans []contract.ToolSpan) (list []string) {
	for _, s := range spans {
		list = append(list, s.Name)
	}
	return list
}

// rouge1 is the F-measure of the words that two texts have in common, ROUGE-1 without stemming. Words are of
// letters and digits, and case does not count.
func rouge1(reference, answer string) float64 {
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	x, y := split(reference), split(answer)
	left := map[string]int{}
	for _, word := range x {
		left[word]++
	}
	common := 0
	for _, word := range y {
		if left[word] > 0 {
			left[word]--
			common++
		}
	}
	if len(x)+len(y) == 0 {
		return 1
	}
	return 2 * float64(common) / float64(len(x)+len(y))
}

// alike is how much of two sequences is common to both, in order.
func alike(x, y []string) float64 {
	if len(x)+len(y) == 0 {
		return 1
	}
	row := make([]int, len(y)+1) // of the table of longest common subsequences
	for i := range x {
		before := 0
		for j := range y {
			was := row[j+1]
			if x[i] == y[j] {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(was, row[j])
			}
			before = was
		}
	}
	return 2 * float64(row[len(y)]) / float64(len(x)+len(y))
}

// command is a scorer that is a program. It reads a ScoreCase as JSON and writes a number, or {"score": number}: the score of
// replayed_output. It is asked a second time with the recorded answer in that place. {"original": number, "replayed": number} is both at once.
type command struct {
	argv    []string
	timeout time.Duration
	env     []string
	dir     string // where it runs; "" is here
}

func (s command) score(ctx context.Context, c contract.ScoreCase) (original, replayed float64, err error) {
	first, err := s.ask(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	if first.Original != nil && first.Replayed != nil {
		return *first.Original, *first.Replayed, nil
	}
	if first.Score == nil {
		return 0, 0, errors.New("the scorer says neither score, nor original and replayed")
	}
	second, err := s.ask(ctx, recordedInPlace(c))
	if err != nil {
		return 0, 0, fmt.Errorf("of the recorded answer: %w", err)
	}
	if second.Score == nil {
		return 0, 0, errors.New("the scorer gives the recorded answer no score")
	}
	return *second.Score, *first.Score, nil
}

// said is what a command says.
type said struct{ Score, Original, Replayed *float64 }

func (s command) ask(ctx context.Context, c contract.ScoreCase) (r said, err error) {
	out, log := procgroup.Output{Most: maxScore}, procgroup.Output{Most: maxScore}
	if err := s.run(ctx, c, &out, &log); err != nil {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		return r, fmt.Errorf("the scorer: %w; it wrote: %.300q", err, log.String())
	}
	return readScore(out.Bytes())
}

// drain is how long the pipes of a scorer that has ended are read on: all it wrote is there, but a busy machine reads it late. Only what it started and left
// behind lets it pass.
const drain = 10 * time.Second

// run gives the command a case and waits until it and its children are gone.
func (s command) run(ctx context.Context, c contract.ScoreCase, out, log io.Writer) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	cmd := exec.Command(s.argv[0], s.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.dir, s.env, bytes.NewReader(body), out, log, drain
	ended, err := procgroup.Start(cmd)
	if err != nil {
		return err
	}
	timer := time.NewTimer(s.timeout)
	defer timer.Stop()
	select {
	case err = <-ended:
	case <-timer.C:
		err = fmt.Errorf("no score within %v", s.timeout)
		procgroup.Kill(cmd.Process.Pid)
		<-ended
	case <-ctx.Done():
		procgroup.Kill(cmd.Process.Pid)
		<-ended
		return ctx.Err()
	}
	procgroup.End(cmd.Process.Pid, time.Second)
	return err
}

// Check is a scorer that is a program which says by its exit code alone whether the replay is good: it has 1 then, else 0. What it writes last is kept. dir is
// where it runs, "" is here. It is asked of the replay alone: nobody knows what it would have said of the recorded run.
func Check(text string, timeout time.Duration, env []string, dir string) (Scorer, error) {
	argv, err := words(text)
	if err != nil {
		return Scorer{}, err
	}
	return Scorer{Name: CheckName, check: command{argv: argv, timeout: timeout, env: env, dir: dir}.passes}, nil
}

// passes asks for the exit code: 0 is a score of 1, any other one of 0.
func (s command) passes(ctx context.Context, c contract.ScoreCase) (float64, string, error) {
	log := &procgroup.Output{Most: maxScore}
	err := s.run(ctx, c, log, log)
	text := log.String()
	text = text[max(0, len(text)-maxSaid):]
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 1, text, nil
	case errors.As(err, &failed):
		return 0, strings.TrimSpace(text + "\n" + failed.Error()), nil
	}
	return 0, "", err
}

// passesBoth asks for the exit code of the replayed answer, and with the recorded answer in its place.
func (s command) passesBoth(ctx context.Context, c contract.ScoreCase) (original, replayed float64, err error) {
	if replayed, _, err = s.passes(ctx, c); err == nil {
		original, _, err = s.passes(ctx, recordedInPlace(c))
	}
	return original, replayed, err
}

// recordedInPlace is the case with the recorded answer as the replayed one.
func recordedInPlace(c contract.ScoreCase) contract.ScoreCase {
	c.Replayed = contract.ReplayOutput{Text: c.Original.Text, ToolSpans: c.Original.ToolSpans, Metadata: map[string]json.RawMessage{}}
	return c
}

// CheckName is the name of a Check in reports.
const CheckName = "verify"

const maxSaid = 2000 // bytes of what a check writes

// words are the words of a command.
func words(text string) ([]string, error) {
	argv, err := runner.Split(text)
	if err == nil && len(argv) == 0 {
		err = errors.New("there is no command")
	}
	return argv, err
}

func readScore(text []byte) (r said, err error) {
	text = bytes.TrimSpace(text)
	if number := json.Number(text); len(text) > 0 && text[0] != '{' {
		f, err := number.Float64()
		if err != nil {
			return r, fmt.Errorf("the scorer says %.80q, which is no number", text)
		}
		r.Score = &f
		return r, r.check()
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("the scorer says %.80q: %w", text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, fmt.Errorf("the scorer says more than one value: %.80q", text)
	}
	return r, r.check()
}

func (r *said) check() error {
	for _, f := range []*float64{r.Score, r.Original, r.Replayed} {
		if f != nil && (math.IsNaN(*f) || *f < 0 || *f > 1) {
			return fmt.Errorf("a score of %v; want 0 to 1", *f)
		}
	}
	return nil
}
