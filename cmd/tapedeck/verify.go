// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/scrub/independent"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/deck/traceline"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
)

func newVerify() *cobra.Command {
	var r refs
	var asJSON, secrets, erased bool
	var rules, with string
	var verifyKeys []string
	var timeout time.Duration
	var lines lineFlags
	cmd := &cobra.Command{
		Use:   "verify REF…",
		Short: "Check tapes and the files beside them",
		Long: `Check tapes: the schema, digests and hashes, references and order, and that the files
beside a tape are the ones it names. The proof is made again: the tape is replayed
against itself, as was noted when it was written. All problems are listed.

` + refHelp + `A deck stands for all its current tapes.

With --verify-key, each tape also has to be signed by one of the keys, over the
oracle and the evidence that are there.

With --secrets, everything that a REF stands for is searched once more for what
redaction should have replaced; places and rules are printed, never values.
The rules are those of redaction: what it does not know is not found so. --with
has an installed scanner search the decoded strings as well.

With --erased, every object of a deck is searched for the ids and the evidence of
what was taken away, reels and quarantine included.

With --stdin it checks tapes that come as lines of JSON, as an engine that works over a
deck sends them (docs/scale-out.md); signatures are not looked at there.

The exit code is 0 if every tape is consistent, 1 if a check failed, 2 if a tape
could not be loaded or there was none, or the scanner failed.`,
		Example: `  tapedeck verify ./deck
  tapedeck verify ./tape.json s3://tapes/prod/runs/default/4b/…/tape.json
  tapedeck verify 4bf92f35 --deck ./deck --json | jq .problems`,
		Args: lines.args("at least one REF"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if lines.stdin {
				return lines.answer(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), verifyLine)
			}
			if erased {
				if secrets || len(verifyKeys) > 0 || len(args) != 1 {
					return errors.New("--erased takes one deck, and nothing beside it")
				}
				return verifyErased(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			c := &verification{refs: &r, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), asJSON: asJSON}
			var gate *derive.Gate
			if secrets {
				if len(verifyKeys) > 0 {
					return errors.New("--verify-key and --secrets are two checks: call verify twice")
				}
				if gate, err = (&redactionFlags{redact: rules}).gate(); err != nil {
					return err
				}
				if gate == nil {
					return errors.New("--redact off leaves nothing to search for")
				}
				if with != "" {
					if c.scanner, err = independent.Open(with); err != nil {
						return err
					}
					if c.scan, err = c.scanner.Search(timeout); err != nil {
						return err
					}
					defer func() { err = errors.Join(err, c.scan.Close()) }()
				}
			} else {
				if len(verifyKeys) > 0 {
					if c.keys, err = signature.ReadKeys(verifyKeys...); err != nil {
						return fmt.Errorf("--verify-key: %w", err)
					}
				}
				for _, flag := range []string{"redact", "with", "with-timeout"} {
					if cmd.Flags().Changed(flag) {
						return fmt.Errorf("--%s goes with --secrets", flag)
					}
				}
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
	cmd.Flags().StringArrayVar(&verifyKeys, "verify-key", nil, "demand a signature by one of the Ed25519 keys in this file, PEM (repeatable)")
	cmd.Flags().BoolVar(&erased, "erased", false, "search a deck for what was taken away instead")
	cmd.Flags().StringVar(&rules, "redact", redact.PolicyDefault, `with --secrets, what to search for: "default", "strict" or a file with rules`)
	cmd.Flags().StringVar(&with, "with", "", `with --secrets, an independent scanner that searches as well: "gitleaks", "trufflehog" or the path of a program`)
	cmd.Flags().DurationVar(&timeout, "with-timeout", 10*time.Minute, "how long one run of the scanner, which sees 64 MiB of text, may take")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON per tape")
	lines.add(cmd.Flags(), "answer each with the line of --json")
	return cmd
}

// verifiedLine is the answer about a tape.
type verifiedLine struct {
	answered
	Verdict *replay.Verdict `json:"verdict,omitempty"`
}

// verifyLine checks the tape of a request.
func verifyLine(a answered, r *traceline.Request) (any, bool) {
	var files []deck.File
	if r.Tape != "" {
		var err error
		if files, err = generation.Beside([]byte(r.Tape), r.Formats, r.Files); err != nil {
			a.Error = err.Error()
			return verifiedLine{answered: a}, true
		}
	} else if len(r.Parts) == 0 {
		a.Error = "there is neither a tape nor evidence"
		return verifiedLine{answered: a}, true
	}
	v := replay.VerifyContent(r.Tenant, r.TraceID, []byte(r.Tape), files, r.Parts)
	return verifiedLine{a, &v}, !v.OK
}

// verification is one call of verify. It holds a tape for each processor.
type verification struct {
	refs           *refs
	stdout, stderr io.Writer
	ids            deck.ShortIDs // of the runs so far
	asJSON         bool
	keys           signature.Keys // nil: signatures are not looked at
	code           int
	scanner        *independent.Scanner // nil: none
	scan           *independent.Search
}

// run checks what one REF stands for. An error is a failure of stdout or a cancelled context; everything else is in the code.
func (c *verification) run(ctx context.Context, ref string) error {
	var batch []replay.Location
	for at, err := range c.refs.Resolve(ctx, ref, replay.WholeDeck) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			batch = append(batch, at)
		}
		if err != nil || len(batch) == runtime.GOMAXPROCS(0) {
			if err := c.check(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
		if err != nil {
			c.worst(exitFailed)
			complain(c.stderr, err)
		}
	}
	return c.check(ctx, batch)
}

func (c *verification) worst(code int) { c.code = max(c.code, code) }

// check checks some tapes at the same time, and reports them in their order.
func (c *verification) check(ctx context.Context, batch []replay.Location) error {
	verdicts := make([]replay.Verdict, len(batch))
	warnings := make([][]string, len(batch))
	var g errgroup.Group
	for i, at := range batch {
		g.Go(func() (err error) {
			verdicts[i], err = replay.Verify(ctx, at, c.keys, func(format string, args ...any) { warnings[i] = append(warnings[i], fmt.Sprintf(format, args...)) })
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, v := range verdicts {
		for _, text := range warnings[i] {
			c.refs.say("%s", text)
		}
		switch {
		case v.Error != "":
			c.worst(exitFailed)
			say(c.stderr, "%s", v.Error)
		case !v.OK:
			c.worst(exitPartial)
		}
		if err := c.report(v); err != nil {
			return err
		}
	}
	return nil
}

func (c *verification) report(v replay.Verdict) error {
	if c.asJSON {
		return printLine(c.stdout, v)
	}
	_, err := c.stdout.Write(v.Text(&c.ids))
	return err
}

// oneLine makes text of a tape safe for a terminal.
func oneLine(s string) string { return timeline.OneLine(s) }
