// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/rulefile"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// task is the runs that were asked the same.
type task struct {
	id   string // empty for oracle files, which do not say
	runs []replay.Oracle
}

// tasks groups runs by what was asked of whom, or by their task id, in the order of the first run of each.
func tasks(all []replay.Oracle, by string) []task {
	var groups []task
	at := map[string]int{}
	for _, l := range all {
		id := ""
		if l.Tape != nil {
			run, asked := l.Tape.Run, exactjson.NullValue
			if message := l.Tape.Input.UserMessage; message != nil {
				asked = exactjson.StringValue(*message)
			}
			key := exactjson.ArrayValue(exactjson.StringValue(run.Service.Name), exactjson.StringValue(run.Agent.Name), asked)
			if by == byTaskID {
				key = exactjson.ArrayValue(exactjson.StringValue(run.TaskID))
			}
			id = strings.TrimPrefix(key.Digest(), "sha256:")[:16]
		}
		i, known := at[id]
		if !known {
			i = len(groups)
			at[id] = i
			groups = append(groups, task{id: id})
		}
		groups[i].runs = append(groups[i].runs, l)
	}
	return groups
}

const (
	byInput  = "input"
	byTaskID = "task-id"
)

func (t task) entries() [][]oracle.Entry {
	runs := make([][]oracle.Entry, len(t.runs))
	for i, l := range t.runs {
		runs[i] = l.Entries
	}
	return runs
}

func newOracleDerive() *cobra.Command {
	var r refs
	var by, to string
	var merge bool
	cmd := &cobra.Command{
		Use:   "derive REF…",
		Short: "Make an oracle of a run, or one of many runs of a task",
		Long: `Make the oracle of a run, or with --merge one oracle of all runs of a task: the
n-th call of equal arguments stands there once if the runs agree on its answer.
Where they do not, every answer stands there, and a replay gets ambiguous; each
such conflict is named on stderr.

Runs are of one task when they were asked the same of the same agent, or have the same
task id (--by task-id). With --to DIR every task is written to a file of its own, and
a line of JSON about each goes to stdout. Else there must be one task, whose oracle
goes to stdout. A deck stands for all its current tapes.

The exit code is 0 if the oracle was made, 1 if there were conflicts, 2 if nothing
was.`,
		Example: `  tapedeck oracle derive ./tape.json > oracle.json
  tapedeck oracle derive --merge --to ./oracles ./deck`,
		Args: needArgs("at least one REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if by != byInput && by != byTaskID {
				return fmt.Errorf("--by is %q, want %s or %s", by, byInput, byTaskID)
			}
			wanted := replay.SeveralRuns
			if merge {
				wanted = replay.WholeDeck
			}
			all, err := r.LoadOracles(cmd.Context(), args, wanted)
			if err != nil {
				return err
			}
			return deriveOracles(cmd.OutOrStdout(), cmd.ErrOrStderr(), tasks(all, by), merge, to)
		},
	}
	r.add(cmd, "ID")
	r.addUnverified()
	cmd.Flags().BoolVar(&merge, "merge", false, "make one oracle of all runs of a task")
	cmd.Flags().StringVar(&by, "by", byInput, "what makes runs one task: input or task-id")
	cmd.Flags().StringVar(&to, "to", "", "the folder for the oracles, one file per task")
	return cmd
}

// derivedOracle is the line about one task. The order of its fields is part of the contract.
type derivedOracle struct {
	Task      string   `json:"task"`
	File      string   `json:"file"`
	Runs      []string `json:"runs"`
	Entries   int      `json:"entries"`
	Conflicts int      `json:"conflicts"`
}

func deriveOracles(stdout, stderr io.Writer, groups []task, merge bool, to string) error {
	runs := 0
	for _, g := range groups {
		runs += len(g.runs)
	}
	if runs > 1 && !merge {
		return fmt.Errorf("these are %d runs; --merge makes one oracle of the runs of a task", runs)
	}
	if len(groups) > 1 && to == "" {
		return fmt.Errorf("these are runs of %d tasks; --to DIR writes an oracle for each", len(groups))
	}
	if to != "" {
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
	}
	code := exitOK
	for _, g := range groups {
		entries, conflicts := g.runs[0].Entries, []oracle.Conflict(nil)
		if len(g.runs) > 1 {
			entries, conflicts = oracle.Merge(g.entries())
		}
		for _, c := range conflicts {
			code = exitPartial
			say(stderr, "conflict: call %d of %s with %s has another answer in %s than in %s", c.Occurrence, c.ToolName, c.ArgsHash, g.runs[c.Runs[1]].At, g.runs[c.Runs[0]].At)
		}
		if to == "" {
			if err := writeOut(stdout, "", oracle.Append(nil, entries)); err != nil {
				return err
			}
			continue
		}
		line := derivedOracle{Task: g.id, Entries: len(entries), Conflicts: len(conflicts), Runs: []string{}}
		for _, l := range g.runs {
			line.Runs = append(line.Runs, l.RunID)
		}
		name := g.id
		if name == "" {
			name = "files"
		}
		line.File = filepath.Join(to, name+".oracle.json")
		if err := writeOut(stdout, line.File, oracle.Append(nil, entries)); err != nil {
			return err
		}
		if err := printLine(stdout, line); err != nil {
			return err
		}
	}
	if code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// printLine writes a value as one line of JSON.
func printLine(stdout io.Writer, v any) error {
	e := json.NewEncoder(stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func newOracleLearn() *cobra.Command {
	var r refs
	var anyTask bool
	cmd := &cobra.Command{
		Use:   "learn REF REF…",
		Short: "Propose match rules from several runs of one task",
		Long: `Propose rules from several runs of one task: values of the arguments that vary
although everything else agrees, the answer included. The rules go to stdout as a
rules file for review, with the reason beside each; what varies and is not
proposed stands there as a comment. A deck stands for all its current tapes.`,
		Example: `  tapedeck oracle learn monday/tape.json tuesday/tape.json > rules.yaml`,
		Args:    needArgs("at least two REFs, or a deck"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := r.LoadOracles(cmd.Context(), args, replay.WholeDeck)
			if err != nil {
				return err
			}
			if len(all) < 2 {
				return errors.New("learn compares runs, and this is one")
			}
			if groups := tasks(all, byInput); len(groups) > 1 && !anyTask {
				return fmt.Errorf("these are runs of %d tasks, and what varies between tasks is no rule; --any-task takes them for one", len(groups))
			}
			runs := task{runs: all}.entries()
			_, err = cmd.OutOrStdout().Write(rulefile.Proposals(oracle.Learn(runs), len(runs)))
			return err
		},
	}
	r.add(cmd, "ID")
	r.addUnverified()
	cmd.Flags().BoolVar(&anyTask, "any-task", false, "take runs that were asked different things for runs of one task")
	return cmd
}

// loadTwo loads an old and a new oracle.
func (r *refs) loadTwo(ctx context.Context, of []string) (a, b replay.Oracle, err error) {
	if a, err = r.OneOracle(ctx, of[0]); err != nil {
		return a, b, err
	}
	b, err = r.OneOracle(ctx, of[1])
	return a, b, err
}
