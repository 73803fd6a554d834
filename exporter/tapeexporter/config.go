// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck"
)

var knownSides = []derive.Accept{derive.AcceptAny, derive.AcceptProduction, derive.AcceptReplay, derive.AcceptUndecided}

// Config is the user's settings of the tape exporter.
type Config struct {
	// Deck is the URL of the deck, such as file:///var/lib/tapes or s3://bucket/prefix.
	Deck string `mapstructure:"deck"`
	// Layout is how a new deck keeps its runs: "files", or "reels" for many. Empty is the layout that the deck has, and files for a new one.
	Layout string `mapstructure:"layout"`
	// Reel says when traces that are on their way together are written, to a deck of reels.
	Reel reel.Limits `mapstructure:"reel"`
	// Content is what a reel holds of a run beside its columns: "evidence", and "tape" unless readers are to derive it.
	Content []string `mapstructure:"content"`
	// Compaction says whether this collector merges reels.
	Compaction CompactionConfig `mapstructure:"compaction"`
	// Formats are the files that are written for each run; "tape" is always among them.
	Formats []string `mapstructure:"formats"`
	// Compression of these files is "none" or "zstd".
	Compression string `mapstructure:"compression"`
	// Accept is "production", "replay", "undecided" or empty for any. It says which traces this exporter may begin. Other traces are
	// kept under undecided/.
	Accept string `mapstructure:"accept"`
	// Replay says what tells replays from production.
	Replay segregation.Config `mapstructure:"replay"`
	// Gate "on" searches everything before it is written, and keeps what holds a secret out of the deck; "off" writes it as it is.
	Gate string `mapstructure:"gate"`
	// GateProfile says what the gate searches for.
	GateProfile GateProfile `mapstructure:"gate_profile"`

	// Keep says which runs keep their content; absent keeps all.
	Keep configoptional.Optional[keep.Config] `mapstructure:"keep"`

	// Signing says with which key tapes are signed.
	Signing SigningConfig `mapstructure:"signing"`

	// Bounds limit what one derivation takes in.
	Bounds BoundsConfig `mapstructure:"bounds"`

	// AllowBatch takes a batch processor between agentrun and this exporter. Such a processor acknowledges
	// what is not stored yet. The check of pipelines refuses it otherwise.
	AllowBatch bool `mapstructure:"allow_batch"`

	// Timeout bounds one attempt to write what one call brings.
	Timeout exporterhelper.TimeoutConfig `mapstructure:",squash"`
	// Retry repeats what failed; max_elapsed_time 0 repeats without end.
	Retry configretry.BackOffConfig `mapstructure:"retry_on_failure"`
	// Queue is off by default: with a queue a call returns before its tapes are durable, unless wait_for_result is set.
	Queue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
}

// SigningConfig says with which key tapes are signed.
type SigningConfig struct {
	// KeyFile holds an Ed25519 key, PKCS #8 in PEM. Empty signs nothing.
	KeyFile string `mapstructure:"key_file"`
}

// BoundsConfig limits what the tapes of one trace are made of. Evidence beyond the bounds is stored all the same, and the tapes say that there is
// more.
type BoundsConfig struct {
	// MaxBytes bounds the content of the evidence, MaxItems its spans and log records; the earliest are taken.
	MaxBytes int64 `mapstructure:"max_bytes"`
	MaxItems int   `mapstructure:"max_items"`
	// MaxParts bounds how many parts are read.
	MaxParts int `mapstructure:"max_parts"`
}

func (b BoundsConfig) bounds() generation.Bounds {
	return generation.Bounds{Bytes: b.MaxBytes, Items: b.MaxItems, Parts: b.MaxParts}
}

// GateProfile are the settings of agentredaction that the gate has to know, or it finds what that leaves on purpose.
type GateProfile struct {
	// Disable names rules or sections that do not run. Rules that guess never do.
	Disable []string `mapstructure:"disable"`
	// RulesFiles are files with further rules and allow lists.
	RulesFiles []string `mapstructure:"redaction_rules_files"`
	// Allow is what no rule touches.
	Allow redact.Allow `mapstructure:"allow"`
}

// layouts are the values of Config.Layout.
var layouts = map[string]deck.Layout{"": "", "files": deck.LayoutFiles, "reels": deck.LayoutReels}

// contents are the values of Config.Content.
var contents = []string{"evidence", "tape"}

// evidenceAlone tells whether tapes are left out of reels.
func (c *Config) evidenceAlone() bool { return !slices.Contains(c.Content, "tape") }

// Values of Config.Gate.
const (
	gateOn  = "on"
	gateOff = "off"
)

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	retry := configretry.NewDefaultBackOffConfig()
	// Evidence is given up by nobody: the sender keeps it until the store is back.
	retry.MaxElapsedTime = 0
	// One call is one trace with a handful of objects; five seconds (the default) is short for a large trace on a slow store.
	timeout := exporterhelper.NewDefaultTimeoutConfig()
	timeout.Timeout = 60 * time.Second
	queue := exporterhelper.NewDefaultQueueConfig()
	queue.WaitForResult = true
	queue.BlockOnOverflow = true
	// Batching would put several calls into one attempt; the deck gains nothing from it.
	queue.Batch = configoptional.None[exporterhelper.BatchConfig]()
	return &Config{
		Formats:     slices.Clone(generation.DefaultFormats),
		Reel:        reel.DefaultLimits,
		Content:     slices.Clone(contents),
		Compaction:  CompactionConfig{MaxBytes: compaction.DefaultMaxBytes},
		Compression: "none",
		Gate:        gateOn,
		Bounds:      BoundsConfig{generation.DefaultBounds.Bytes, generation.DefaultBounds.Items, generation.DefaultBounds.Parts},
		Timeout:     timeout,
		Retry:       retry,
		// Absent; what a user who writes `keep:` starts from keeps nothing that he does not name.
		Keep: configoptional.Default(keep.Config{}),
		// Off; what a user who writes `sending_queue:` starts from.
		Queue: configoptional.Default(queue),
	}
}

// Unmarshal refuses numbers that a setting cannot hold.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate reports every setting that cannot work.
func (c *Config) Validate() error {
	var errs []error
	if err := validateDeck(c.Deck); err != nil {
		errs = append(errs, err)
	}
	if _, ok := layouts[c.Layout]; !ok {
		errs = append(errs, fmt.Errorf("layout must be files, reels or empty, got %q", c.Layout))
	}
	if err := c.Reel.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("reel: %w", err))
	} else if c.Layout == "reels" && c.Timeout.Timeout > 0 && c.Timeout.Timeout <= c.Reel.MaxWait {
		errs = append(errs, errors.New("timeout must be longer than reel::max_wait: a call waits for the reel that holds its traces"))
	}
	errs = append(errs, c.validateContent()...)
	if err := c.Compaction.validate(c.Layout); err != nil {
		errs = append(errs, fmt.Errorf("compaction: %w", err))
	}
	if !slices.Contains(c.Formats, "tape") {
		errs = append(errs, errors.New("formats must contain \"tape\""))
	}
	if _, err := c.gate(); err != nil {
		errs = append(errs, err)
	}
	if _, err := signature.ReadSigner(c.Signing.KeyFile); err != nil {
		errs = append(errs, fmt.Errorf("signing: %w", err))
	}
	if b := c.Bounds; b.MaxBytes < 1 || b.MaxItems < 1 || b.MaxParts < 1 {
		errs = append(errs, errors.New("bounds: max_bytes, max_items and max_parts must be at least 1"))
	}
	if _, err := deck.ParseCompression(c.Compression); err != nil {
		errs = append(errs, err)
	}
	known := generation.KnownFormats()
	for i, f := range c.Formats {
		if !slices.Contains(known, f) {
			errs = append(errs, fmt.Errorf("unknown format %q in formats, known: %s", f, strings.Join(known, ", ")))
		}
		if slices.Contains(c.Formats[:i], f) {
			errs = append(errs, fmt.Errorf("format %q is listed twice in formats", f))
		}
	}
	if !slices.Contains(knownSides, derive.Accept(c.Accept)) {
		errs = append(errs, fmt.Errorf("accept must be production, replay, undecided or empty, got %q", c.Accept))
	}
	if c.Queue.HasValue() && c.Queue.Get().Sizer == exporterhelper.RequestSizerTypeItems {
		errs = append(errs, errors.New("sending_queue::sizer must be requests or bytes: a queue that counts items drops calls without spans, such as the tag of a replay that comes alone"))
	}
	if _, err := c.Replay.Rules(); err != nil {
		errs = append(errs, fmt.Errorf("replay: %w", err))
	}
	return errors.Join(errs...)
}

// validateContent reports what reels cannot hold, and a policy that cannot work.
func (c *Config) validateContent() (errs []error) {
	for i, what := range c.Content {
		if !slices.Contains(contents, what) || slices.Contains(c.Content[:i], what) {
			errs = append(errs, fmt.Errorf("content is [evidence, tape] or [evidence], got %q", c.Content))
			break
		}
	}
	switch {
	case !slices.Contains(c.Content, "evidence"):
		errs = append(errs, errors.New("content must hold \"evidence\": tapes are made of it"))
	case c.evidenceAlone() && c.Layout != "reels":
		errs = append(errs, errors.New("content without \"tape\" needs layout: reels"))
	}
	if c.Keep.HasValue() {
		if err := c.Keep.Get().Validate(); err != nil {
			errs = append(errs, fmt.Errorf("keep: %w", err))
		}
	}
	return errs
}

// gate is what the settings say; nil when it is off.
func (c *Config) gate() (*derive.Gate, error) {
	g := c.GateProfile
	switch c.Gate {
	case gateOn:
	case gateOff:
		if len(g.Disable)+len(g.RulesFiles)+len(g.Allow.Values)+len(g.Allow.Patterns)+len(g.Allow.Paths) > 0 {
			return nil, errors.New("gate_profile is given, but gate is off")
		}
		return nil, nil
	default:
		return nil, fmt.Errorf("gate must be %q or %q, got %q", gateOn, gateOff, c.Gate)
	}
	p := redact.Default()
	p.Disable, p.Allow = g.Disable, g.Allow
	for _, file := range g.RulesFiles {
		var err error
		if p, err = p.Read(file); err != nil {
			return nil, fmt.Errorf("gate_profile: %w", err)
		}
	}
	gate, err := derive.NewGate(p)
	if err != nil {
		return nil, fmt.Errorf("gate_profile: %w", err)
	}
	return gate, nil
}

// validateDeck refuses what start would refuse whatever lies behind the URL. Errors do not repeat the URL: it may carry credentials.
func validateDeck(raw string) error {
	if raw == "" {
		return errors.New("deck is required, such as file:///var/lib/tapes or s3://bucket/prefix")
	}
	if _, err := url.Parse(raw); err != nil {
		return errors.New("deck is not a URL")
	}
	if !strings.Contains(raw, "://") {
		return errors.New("deck has no scheme; a folder is written as file:///path")
	}
	if err := deck.CheckURL(raw); err != nil {
		return fmt.Errorf("deck: %w", err)
	}
	return nil
}
