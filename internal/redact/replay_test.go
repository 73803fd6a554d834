// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/redact/token"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// tapes derives a recorded run, redacted by r or as it is.
func tapes(t *testing.T, run groundtruth.Run, r *redact.Redactor) []*tape.Tape {
	set := evidence.NewSet()
	for _, path := range run.Files {
		for doc, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
			require.NoError(t, err)
			// In the collector log records become spans before they are redacted.
			logs := evidence.LogsToTraces(doc.Logs, segregation.Default)
			if r != nil {
				r.Traces(doc.Traces, nil)
				r.Traces(logs, nil)
			}
			set.AddTraces(doc.Traces)
			set.AddTraces(logs)
		}
	}
	return reconstruct.All(set.Split(), reconstruct.Options{Tenant: "default", Redaction: tape.Redaction{Policy: "none"}})
}

// A replay finds as many answers in the redacted tapes of the recorded runs as in the others, whether the agent sends what the tape
// holds or the real arguments, and the proof of each tape comes out the same.
func TestRedactionDoesNotChangeWhatAReplayFinds(t *testing.T) {
	key, err := redact.NewKey([]byte("a key for tests, 0123456789abcdef"), "")
	require.NoError(t, err)
	r, err := redact.New(redact.Default().WithKey(key))
	require.NoError(t, err)
	runs, err := groundtruth.Corpus("../../testdata/corpus")
	require.NoError(t, err)
	require.NotEmpty(t, runs)
	var off, asTokens, asOriginals, redacted, masked int
	for _, run := range runs {
		plain, hidden := tapes(t, run, nil), tapes(t, run, r)
		name := run.Group + "/" + run.Scenario
		require.Len(t, hidden, len(plain), name)
		for i := range plain {
			require.Equal(t, plain[i].Fidelity.Proof, hidden[i].Fidelity.Proof, name)
			require.Equal(t, plain[i].Fidelity.Grade, hidden[i].Fidelity.Grade, name)
			calls, hiddenCalls := oracle.FromTape(plain[i]), oracle.FromTape(hidden[i])
			require.Len(t, hiddenCalls, len(calls), name)
			want := answers(t, nil, calls, calls)
			byToken, byOriginal := answers(t, key, hiddenCalls, hiddenCalls), answers(t, key, hiddenCalls, calls)
			for j := range calls {
				require.Equal(t, want[j].Outcome, byToken[j].Outcome, "%s: %s by token", name, calls[j].ToolName)
				if strings.Contains(calls[j].Args.JSON(), token.Mask) {
					masked++ // by the producer: what the agent really sent is not recorded
					continue
				}
				require.Equal(t, want[j].Outcome, byOriginal[j].Outcome, "%s: %s by original arguments", name, calls[j].ToolName)
				require.Equal(t, want[j].Index, byToken[j].Index, name)
				require.Equal(t, want[j].Index, byOriginal[j].Index, name)
				off += served(want[j])
				asTokens += served(byToken[j])
				asOriginals += served(byOriginal[j])
				if calls[j].ArgsHash != hiddenCalls[j].ArgsHash {
					redacted++
				}
			}
		}
	}
	t.Logf("%d calls are served without redaction, %d by tokens, %d by original arguments (%d of them hold tokens; %d more were masked by their producer)", off, asTokens, asOriginals, redacted, masked)
	require.Greater(t, redacted, 30)
}

func served(a oracle.Answer) int {
	if a.Outcome.Served() {
		return 1
	}
	return 0
}

// answers asks an oracle of the entries for every call, in order.
func answers(t *testing.T, key *redact.Key, entries, calls []oracle.Entry) (list []oracle.Answer) {
	var options oracle.Options
	if key != nil {
		options.Verifier = key
	}
	o, err := oracle.New(entries, options)
	require.NoError(t, err)
	session := o.NewSession(0)
	for i := range calls {
		c := &calls[i]
		answer, err := session.Answer(oracle.Query{ToolName: c.ToolName, Args: c.Args, ArgsHash: c.ArgsHash, Caller: c.Caller, Unnamed: c.Caller == ""})
		require.NoError(t, err)
		list = append(list, answer)
	}
	return list
}

// Every planted secret of the recorded runs is gone from their tapes and oracles.
func TestNoPlantedSecretReachesATape(t *testing.T) {
	key, err := redact.NewKey([]byte("a key for tests, 0123456789abcdef"), "")
	require.NoError(t, err)
	r, err := redact.New(redact.Default().WithKey(key))
	require.NoError(t, err)
	runs, err := groundtruth.Corpus("../../testdata/corpus")
	require.NoError(t, err)
	secrets := []string{"ghp_FAKEfake", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.", "jane.fake@example.com", "4111 1111 1111 1111",
		"sk-proj-FAKE", "hunter2-FAKE-password"}
	seen := map[string]bool{}
	for _, run := range runs {
		if run.Scenario != "secrets" {
			continue
		}
		was := tapes(t, run, nil)
		for i, tp := range tapes(t, run, r) {
			text := string(tp.AppendJSON(nil)) + string(oracle.Append(nil, oracle.FromTape(tp)))
			plain := string(was[i].AppendJSON(nil))
			for _, s := range secrets {
				require.NotContains(t, text, s, run.Group)
				seen[s] = seen[s] || strings.Contains(plain, s)
			}
		}
	}
	require.Len(t, seen, len(secrets))
	for s, ok := range seen {
		require.True(t, ok, "%s is in no tape: the test proves nothing", s)
	}
}
