// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentreplay runs an agent again on a recorded run: it answers the calls of the agent from the tape,
// makes tapes of what the agent does, and compares them with the recorded ones. Its hints name the flags of
// the command line.
package agentreplay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/rulefile"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// Options say how recorded runs are replayed. A replay does not change them, so one set serves any number of
// replays.
type Options struct {
	// Argv is the command, Dir the folder in which it runs; "" is the current one.
	Argv []string
	Dir  string
	// Env chooses the variables that the command gets of the environment of this program. Variables are set
	// beside them.
	Env       rerun.Choice
	Variables []rerun.Variable

	// Input is how the command gets what the recorded run was asked, as Template renders it. Turns are the
	// messages that it gets. Ready is the port or URL at which a server is ready; "" is that of Input.
	Input           rerun.Input
	Template, Turns string
	Ready           string
	// Answer is where the answer of the command is.
	Answer Answer
	// Timeout ends the command. Grace is the time that it has to end after it was asked to.
	Timeout, Grace time.Duration

	// Shut is how the network of the command is shut. RequireLockdown refuses less than a whole namespace.
	// AllowHosts are the HOST[:PORT] that the command reaches over the proxy.
	Shut            rerun.Shut
	RequireLockdown bool
	AllowHosts      []string

	// Hooks answers the tools of known frameworks within the process of the agent; Frameworks are those whose
	// tools may run in an unknown version. AllowLive are the tools that may run; "*" is every tool.
	Hooks                 bool
	Frameworks, AllowLive []string
	// Freeze gives the agent the recorded clock, and seeded random numbers.
	Freeze bool
	// RecordedOnly makes no copy of the recorded workspace.
	RecordedOnly bool

	// Rules say how tool calls are matched with recorded ones. Verifier verifies tokens in recorded
	// arguments; without one, Redaction.Key does where the tape has tokens of that key.
	Rules    rulefile.Sources
	Verifier oracle.TokenVerifier
	// Exact takes no ids, times and the like for equal that differ from run to run.
	Exact bool
	// Override is an oracle file whose answers are laid over the recorded ones; "" for none.
	Override string
	// ForkAt is the first event of the recording that is free; 0 for none.
	ForkAt int
	// Candidate answers model calls in place of the tape; nil for none.
	Candidate *Candidate
	// Realtime lets answers take as long as they took.
	Realtime bool
	// Forge is the replay of an invocation of a Forge agent.
	Forge Forge

	// Level and Ignore say what counts in the comparison.
	Level  compare.Level
	Ignore []compare.Field

	// Redaction and Sign are for the tapes of the replay. OpenDeck opens the deck for those of the replay
	// with an id, and returns what closes it.
	Redaction Redaction
	Sign      *signature.Signer
	OpenDeck  func(ctx context.Context, id string) (d *deck.Deck, done func() error, err error)

	// Stderr gets what the command writes. It is safe for concurrent use.
	Stderr io.Writer
	// Say is told what is to be known of a replay beside its report.
	Say func(format string, args ...any)
}

// Answer is where the answer of a command is.
type Answer string

// The places.
const (
	AnswerTelemetry Answer = "telemetry"
	AnswerStdout    Answer = "stdout"
	AnswerHTTP      Answer = "http"
	AnswerA2A       Answer = "a2a"
)

// Redaction is how the telemetry of a replay is redacted.
type Redaction struct {
	Redactor *redact.Redactor // nil: not at all
	Key      *redact.Key      // of its tokens; nil: there are none
	Gate     *derive.Gate     // nil: what is redacted is not searched again
}

// text redacts a text.
func (r *Redaction) text(text string) string {
	if r.Redactor == nil {
		return text
	}
	return r.Redactor.String("", text, nil)
}

// Candidate is a real model.
type Candidate struct {
	URL          *url.URL // what stands before the paths of the protocols
	Model        string   // "": the one that the agent asks for
	SystemPrompt *string  // nil: that of the agent
	Key          func(api string) string
}

// upstream is where the model stub sends calls on.
func (c *Candidate) upstream() *modelstub.Upstream {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return &modelstub.Upstream{URL: c.URL, Model: c.Model, SystemPrompt: c.SystemPrompt, Key: c.Key, Transport: transport}
}

func (c *Candidate) report() *rerun.Candidate {
	r := &rerun.Candidate{URL: c.URL.String(), Model: c.Model}
	if c.SystemPrompt != nil {
		r.SystemPromptSHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(*c.SystemPrompt)))
	}
	return r
}

// speed is how fast answers come, as a multiple of the recorded speed; 0 is at once.
func (o *Options) speed() float64 {
	if o.Realtime {
		return 1
	}
	return 0
}

// NewID makes up the id of a replay.
func NewID() string { return "replay-" + rand.Text()[:12] }
