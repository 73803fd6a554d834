// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/traceline"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/redact"
)

type redactFlags struct {
	profileFlags
	dryRun  bool
	summary bool
	lines   lineFlags
}

func newRedact() *cobra.Command {
	var f redactFlags
	cmd := &cobra.Command{
		Use:   "redact FILE… [--dry-run]",
		Short: "Show what redaction would replace, or replace it",
		Long: `Search telemetry files (what derive takes) and other text or JSON files, such as
a tape, for secrets and personal data.

With --dry-run, one line of JSON is printed for each value that would be replaced:
where it stands and which rule finds it, never the value. Without it, what the
files hold is printed redacted, telemetry as OTLP JSON lines; that needs a key.

With --stdin, evidence and tapes that come as lines of JSON are searched, as an engine
that works over a deck sends them (docs/scale-out.md).

The exit code is 0 if nothing was found or the redacted text was printed, 1 if
--dry-run found something, 2 if a file cannot be read.`,
		Example: `  tapedeck redact traces.jsonl --dry-run
  tapedeck redact traces.jsonl --dry-run --summary --profile strict --redaction-rules corp.yaml
  tapedeck redact traces.jsonl --redaction-key-file key > redacted.jsonl`,
		Args: f.lines.args("a FILE", "dry-run", "profile", "mode", "disable", "redaction-rules"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.redactor()
			if err != nil {
				return err
			}
			if f.lines.stdin {
				if !f.dryRun {
					return errors.New("--stdin searches alone: it goes with --dry-run; scrub rewrites a deck")
				}
				return f.lines.answer(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), func(a answered, q *traceline.Request) (any, bool) { return searchLine(r, a, q) })
			}
			if !f.dryRun && r.Key() == nil {
				return errors.New("redact needs --redaction-key-file or $" + keyVariable + ", or --dry-run")
			}
			c := &redaction{r: r, flags: f, stdin: cmd.InOrStdin(), out: json.NewEncoder(cmd.OutOrStdout()), stdout: cmd.OutOrStdout(), counts: map[string]int64{}}
			c.out.SetEscapeHTML(false)
			for _, file := range args {
				if err := c.file(file); err != nil {
					return err
				}
			}
			return c.end(cmd.ErrOrStderr())
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be replaced, and change nothing")
	cmd.Flags().BoolVar(&f.summary, "summary", false, "with --dry-run: one line for each rule")
	f.lines.add(cmd.Flags(), "answer each with what --dry-run finds")
	return cmd
}

// searchedLine is the answer about the evidence and the tape of a trace.
type searchedLine struct {
	answered
	Hits []searchedHit `json:"hits"`
}

// searchedHit is a value that would be replaced, and in which file of a deck.
type searchedHit struct {
	File string `json:"file"` // the digest of a part, or tape.json
	redact.Hit
}

// searchLine searches what a request holds.
func searchLine(r *redact.Redactor, a answered, q *traceline.Request) (any, bool) {
	line := searchedLine{a, []searchedHit{}}
	add := func(file string, hits []redact.Hit) {
		for _, h := range hits {
			line.Hits = append(line.Hits, searchedHit{file, h})
		}
	}
	for _, part := range q.Parts {
		td, err := nesting.UnmarshalTraces(part)
		if err != nil {
			line.Error = "a part cannot be read: " + err.Error()
			return line, true
		}
		add(deck.PartDigest(part), r.ScanTraces(td))
	}
	if q.Tape != "" {
		add(deck.TapeFile, r.ScanFile(q.Tape))
	}
	return line, len(line.Hits) > 0
}

// redaction is one call of redact.
type redaction struct {
	r      *redact.Redactor
	flags  redactFlags
	stdin  io.Reader
	out    *json.Encoder
	stdout io.Writer
	counts map[string]int64
}

func (c *redaction) file(name string) error {
	for doc, err := range otlpfile.ReadFile(name, c.stdin, otlpfile.Options{}) {
		if errors.Is(err, otlpfile.ErrNotTelemetry) && name != "-" {
			text, err := readText(name)
			if err != nil {
				return err
			}
			return c.text(name, text)
		}
		if err != nil {
			return err
		}
		if err := c.document(name, doc); err != nil {
			return err
		}
	}
	return nil
}

func (c *redaction) document(name string, doc otlpfile.Document) error {
	switch {
	case doc.Signal == otlpfile.SignalOther:
		return fmt.Errorf("%s holds metrics or profiles, which tapes are not made from", name)
	case c.flags.dryRun && doc.Signal == otlpfile.SignalLogs:
		return c.hits(name, c.r.ScanLogs(doc.Logs))
	case c.flags.dryRun:
		return c.hits(name, c.r.ScanTraces(doc.Traces))
	}
	var line []byte
	var err error
	if doc.Signal == otlpfile.SignalLogs {
		c.r.Logs(doc.Logs, nil)
		line, err = (&plog.JSONMarshaler{}).MarshalLogs(doc.Logs)
	} else {
		c.r.Traces(doc.Traces, nil)
		line, err = (&ptrace.JSONMarshaler{}).MarshalTraces(doc.Traces)
	}
	if err == nil {
		_, err = c.stdout.Write(append(line, '\n'))
	}
	return err
}

func (c *redaction) text(name, text string) error {
	if c.flags.dryRun {
		return c.hits(name, c.r.ScanString("", text))
	}
	_, err := io.WriteString(c.stdout, c.r.String("", text, nil))
	return err
}

func (c *redaction) hits(file string, hits []redact.Hit) error {
	for _, h := range hits {
		c.counts[h.Rule]++
		if c.flags.summary {
			continue
		}
		line := struct {
			File string `json:"file"`
			redact.Hit
		}{file, h}
		if err := c.out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// end prints the counts and says whether something was found.
func (c *redaction) end(stderr io.Writer) error {
	if !c.flags.dryRun {
		return nil
	}
	total := int64(0)
	for _, rule := range slices.Sorted(maps.Keys(c.counts)) {
		total += c.counts[rule]
		if c.flags.summary {
			if err := c.out.Encode(struct {
				Rule  string `json:"rule"`
				Count int64  `json:"count"`
			}{rule, c.counts[rule]}); err != nil {
				return err
			}
		}
	}
	say(stderr, "%d values would be replaced by %d rules", total, len(c.counts))
	if total > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}
