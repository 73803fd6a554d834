// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck"
)

// Values of the setting that says what happens to spans that are no evidence of an agent run.
const (
	nonAgentForward = "forward"
	nonAgentDrop    = "drop"
	nonAgentKeep    = "keep"
)

// Values of the setting that says where the tenant of a span comes from.
const (
	tenantFromNone     = "none"
	tenantFromMetadata = "metadata"
	tenantFromResource = "resource"
)

// Values of the setting that says whether evidence must be redacted before it reaches this processor.
const (
	redactionRequired = "required"
	redactionNone     = handover.Unredacted
)

// How traces are treated whose root never came.
const (
	rootlessUndecided  = "undecided"
	rootlessProduction = "production"
)

// Values of the setting that says what happens to open traces at shutdown.
const (
	onShutdownEmit = "emit"
	onShutdownPark = "park"
)

// Config is the user's settings of the agentrun processor.
type Config struct {
	// NonAgent says what happens to spans that are no evidence of an agent run: "forward" passes them on at once and unchanged, "drop"
	// drops them, "keep" holds them with their trace, so that whole traces are emitted.
	NonAgent string `mapstructure:"non_agent"`
	// Tenant says whose runs these are.
	Tenant TenantConfig `mapstructure:"tenant"`
	// Redaction "required" refuses requests with evidence that no agentredaction processor of this collector has redacted; "none" accepts
	// all evidence.
	Redaction string `mapstructure:"redaction"`

	// Replay says what tells replays from production. The tags of all spans of a trace travel with its run.
	Replay segregation.Config `mapstructure:"replay"`
	// Rootless says how a trace is treated that names a parent which never came. "undecided" allows for a parent that carries the tag of a
	// replay. "production" does not.
	Rootless string `mapstructure:"rootless"`

	// QuietPeriod without a new span ends a trace whose root has ended.
	QuietPeriod time.Duration `mapstructure:"quiet_period"`
	// IdleTimeout without a new span ends a trace whose root has not come.
	IdleTimeout time.Duration `mapstructure:"idle_timeout"`
	// MaxAge after its first span ends any trace.
	MaxAge time.Duration `mapstructure:"max_age"`

	// MaxTraceBytes is the size (OTLP protobuf) at which one trace is passed on early. With a spool, an eighth of MaxMemoryBytes bounds it
	// too.
	MaxTraceBytes int64 `mapstructure:"max_trace_bytes"`
	// MaxTraceSpans is the number of spans at which one trace is passed on early.
	MaxTraceSpans int `mapstructure:"max_trace_spans"`
	// MaxTraces is how many traces may be open; one more passes on the oldest early.
	MaxTraces int `mapstructure:"max_traces"`
	// MaxMemoryBytes is how much evidence (OTLP protobuf) may be in memory, in open traces or in flight. With a spool, evidence leaves memory
	// earlier, that of open traces beyond 32 MiB. A request that would exceed the bound is refused.
	MaxMemoryBytes int64 `mapstructure:"max_memory_bytes"`
	// Spool makes evidence durable before it is acknowledged.
	Spool SpoolConfig `mapstructure:"spool"`

	// EmitConcurrency is how many traces the next component may work on at once. Those that only wait in it do not count.
	EmitConcurrency int `mapstructure:"emit_concurrency"`
	// EmitTimeout bounds one call of the next component. Without it, a component that retries by itself would take one of EmitConcurrency for
	// as long as it fails.
	EmitTimeout time.Duration `mapstructure:"emit_timeout"`
	// Retry is the backoff of a failed emission, which is tried until it succeeds.
	Retry RetryConfig `mapstructure:"retry_on_failure"`
	// OnShutdown says what happens to open traces: "emit" passes them on, "park" leaves them in the spool for the next start. Empty is
	// "park" with a spool and "emit" without.
	OnShutdown string `mapstructure:"on_shutdown"`
	// ShutdownTimeout bounds the emission of held evidence at shutdown. The rest stays in the spool. Without a spool it is lost and counted.
	ShutdownTimeout time.Duration `mapstructure:"shutdown_timeout"`

	// StatusEndpoint is an address (host:port) that lists open runs as JSON; empty is none. It has no authentication: keep it on loopback.
	StatusEndpoint string `mapstructure:"status_endpoint"`
}

// SpoolConfig says where and how evidence is made durable.
type SpoolConfig struct {
	// Directory belongs to this processor alone; empty holds evidence in memory only.
	Directory string `mapstructure:"directory"`
	// MaxBytes is what the spool may take on disk; requests that exceed it are refused.
	MaxBytes int64 `mapstructure:"max_bytes"`
	// Sync is "always" (acknowledged when the disk has it), "interval" (the disk has it SyncInterval later) or "none" (the operating
	// system decides). "always" is the one value that survives a power loss. A kill of the process loses nothing with any of them.
	Sync         string        `mapstructure:"sync"`
	SyncInterval time.Duration `mapstructure:"sync_interval"`
	// Compression is "none" or "zstd".
	Compression string `mapstructure:"compression"`
}

// TenantConfig says where the tenant is read.
type TenantConfig struct {
	// From is "none", "metadata" (of the client's request; the receiver needs include_metadata) or "resource" (an attribute).
	From string `mapstructure:"from"`
	// Key is the metadata key or the resource attribute.
	Key string `mapstructure:"key"`
	// Default is the tenant of everything that names none.
	Default string `mapstructure:"default"`
}

// RetryConfig is a capped exponential backoff without an end.
type RetryConfig struct {
	InitialInterval time.Duration `mapstructure:"initial_interval"`
	MaxInterval     time.Duration `mapstructure:"max_interval"`
	// ParkAfter is how long a trace fails, while others do not, before it is tried only every ParkedInterval.
	ParkAfter      time.Duration `mapstructure:"park_after"`
	ParkedInterval time.Duration `mapstructure:"parked_interval"`
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	return &Config{
		NonAgent:  nonAgentForward,
		Tenant:    TenantConfig{From: tenantFromNone, Default: "default"},
		Redaction: redactionRequired,
		Rootless:  rootlessUndecided,
		// SDK batch processors export every 5 s by default: the children of a root that has ended can lag one export behind it.
		QuietPeriod: 6 * time.Second,
		// Longer than one slow model or tool call, which is the longest silence inside a live run.
		IdleTimeout: 5 * time.Minute,
		MaxAge:      time.Hour,
		// One trace fits into the memory of a reader and into one object without multipart upload.
		MaxTraceBytes: 64 << 20,
		MaxTraceSpans: 50_000,
		MaxTraces:     100_000,
		// Evidence takes up to a third more on the heap, and the heap half as much again: about 1 GiB resident when full.
		MaxMemoryBytes: 512 << 20,
		Spool: SpoolConfig{
			MaxBytes:     10 << 30,
			Sync:         string(spool.SyncAlways),
			SyncInterval: 100 * time.Millisecond,
			Compression:  string(spool.CompressionNone),
		},
		// Emission waits for object storage, not for a CPU.
		EmitConcurrency: 16,
		// Twice what the tape exporter takes for one attempt at most.
		EmitTimeout: 2 * time.Minute,
		Retry: RetryConfig{
			InitialInterval: 500 * time.Millisecond, MaxInterval: 30 * time.Second,
			ParkAfter: 10 * time.Minute, ParkedInterval: 30 * time.Minute,
		},
		// Below the 30 s that Kubernetes grants by default.
		ShutdownTimeout: 25 * time.Second,
	}
}

// Unmarshal refuses numbers that a setting cannot hold.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate reports every setting that cannot work.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	if !slices.Contains([]string{nonAgentForward, nonAgentDrop, nonAgentKeep}, c.NonAgent) {
		fail("non_agent must be %q, %q or %q, got %q", nonAgentForward, nonAgentDrop, nonAgentKeep, c.NonAgent)
	}
	switch c.OnShutdown {
	case "", onShutdownEmit:
	case onShutdownPark:
		if c.Spool.Directory == "" {
			fail("on_shutdown: park needs a spool::directory")
		}
	default:
		fail("on_shutdown must be %q or %q, got %q", onShutdownEmit, onShutdownPark, c.OnShutdown)
	}
	if err := c.Spool.validate(); err != nil {
		errs = append(errs, fmt.Errorf("spool: %w", err))
	}
	if c.StatusEndpoint != "" {
		if _, _, err := net.SplitHostPort(c.StatusEndpoint); err != nil {
			fail("status_endpoint: %w", err)
		}
	}
	if c.Redaction != redactionNone && c.Redaction != redactionRequired {
		fail("redaction must be %q or %q, got %q", redactionRequired, redactionNone, c.Redaction)
	}
	if c.Rootless != rootlessUndecided && c.Rootless != rootlessProduction {
		fail("rootless must be %q or %q, got %q", rootlessUndecided, rootlessProduction, c.Rootless)
	}
	if _, err := c.Replay.Rules(); err != nil {
		errs = append(errs, fmt.Errorf("replay: %w", err))
	}
	if err := c.Tenant.validate(); err != nil {
		errs = append(errs, fmt.Errorf("tenant: %w", err))
	}
	for name, d := range map[string]time.Duration{
		"quiet_period": c.QuietPeriod, "idle_timeout": c.IdleTimeout, "max_age": c.MaxAge, "shutdown_timeout": c.ShutdownTimeout,
		"emit_timeout": c.EmitTimeout, "retry_on_failure::initial_interval": c.Retry.InitialInterval, "retry_on_failure::max_interval": c.Retry.MaxInterval,
		"retry_on_failure::park_after": c.Retry.ParkAfter, "retry_on_failure::parked_interval": c.Retry.ParkedInterval,
	} {
		if d <= 0 {
			fail("%s must be positive, got %s", name, d)
		}
	}
	if c.QuietPeriod > c.IdleTimeout {
		fail("quiet_period (%s) must not exceed idle_timeout (%s)", c.QuietPeriod, c.IdleTimeout)
	}
	if c.IdleTimeout > c.MaxAge {
		fail("idle_timeout (%s) must not exceed max_age (%s)", c.IdleTimeout, c.MaxAge)
	}
	if c.Retry.InitialInterval > c.Retry.MaxInterval {
		fail("retry_on_failure::initial_interval (%s) must not exceed retry_on_failure::max_interval (%s)", c.Retry.InitialInterval, c.Retry.MaxInterval)
	}
	for name, n := range map[string]int64{
		"max_trace_bytes": c.MaxTraceBytes, "max_trace_spans": int64(c.MaxTraceSpans), "max_traces": int64(c.MaxTraces),
		"max_memory_bytes": c.MaxMemoryBytes, "emit_concurrency": int64(c.EmitConcurrency),
	} {
		if n <= 0 {
			fail("%s must be positive, got %d", name, n)
		}
	}
	if c.MaxTraceBytes > c.MaxMemoryBytes {
		fail("max_trace_bytes (%d) must not exceed max_memory_bytes (%d)", c.MaxTraceBytes, c.MaxMemoryBytes)
	}
	return errors.Join(errs...)
}

// parks tells whether open traces stay in the spool at shutdown.
func (c *Config) parks() bool {
	return c.Spool.Directory != "" && c.OnShutdown != onShutdownEmit
}

// minSpoolBytes is a spool whose segments, a sixteenth of it, take a request of the size that gRPC receivers allow by default.
const minSpoolBytes = 64 << 20

func (c *SpoolConfig) validate() error {
	if c.MaxBytes < minSpoolBytes {
		return fmt.Errorf("max_bytes must be at least %d, got %d", minSpoolBytes, c.MaxBytes)
	}
	if modes := []spool.SyncMode{spool.SyncAlways, spool.SyncInterval, spool.SyncNone}; !slices.Contains(modes, spool.SyncMode(c.Sync)) {
		return fmt.Errorf("sync must be one of %q, got %q", modes, c.Sync)
	}
	if c.SyncInterval <= 0 {
		return fmt.Errorf("sync_interval must be positive, got %s", c.SyncInterval)
	}
	if kinds := []spool.Compression{spool.CompressionNone, spool.CompressionZstd}; !slices.Contains(kinds, spool.Compression(c.Compression)) {
		return fmt.Errorf("compression must be one of %q, got %q", kinds, c.Compression)
	}
	return nil
}

// validate reports a tenant source without a key and the like.
func (c *TenantConfig) validate() error {
	switch c.From {
	case tenantFromNone:
		if c.Key != "" {
			return fmt.Errorf("key %q is given, but from is %q", c.Key, tenantFromNone)
		}
	case tenantFromMetadata, tenantFromResource:
		if c.Key == "" {
			return fmt.Errorf("from: %s needs a key", c.From)
		}
		if c.From == tenantFromResource && strings.HasPrefix(c.Key, handover.Prefix) {
			return fmt.Errorf("key %q lies in the reserved namespace %s*, which is stripped from what comes in", c.Key, handover.Prefix)
		}
	default:
		return fmt.Errorf("from must be %q, %q or %q, got %q", tenantFromNone, tenantFromMetadata, tenantFromResource, c.From)
	}
	if c.Default == "" {
		return errors.New("default must not be empty")
	}
	if len(c.Default) > maxTenantBytes {
		return fmt.Errorf("default has %d bytes, at most %d are possible", len(c.Default), maxTenantBytes)
	}
	return nil
}
