// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracleextension // import "github.com/tapedeck/tapedeck/extension/oracleextension"

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/extension/oracleextension/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/oracles"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/oracle/rulefile"
)

// oracleExtension serves a deck. The deck is opened with the first run that is asked for, because a collector must be able to start
// while its store is away.
type oracleExtension struct {
	cfg       *Config
	set       component.TelemetrySettings
	telemetry *metadata.TelemetryBuilder
	outcomes  map[oracle.Outcome]metric.MeasurementOption
	options   oracle.Options

	handler *oraclehttp.Handler
	server  *http.Server
	address net.Addr // of the listener, once started
	done    sync.WaitGroup

	mu      sync.Mutex
	deck    *deck.Deck
	library *oracles.Library
}

func newOracleExtension(set extension.Settings, cfg *Config) (*oracleExtension, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	e := &oracleExtension{cfg: cfg, set: set.TelemetrySettings, telemetry: telemetry, outcomes: map[oracle.Outcome]metric.MeasurementOption{}}
	for _, o := range oracle.Outcomes {
		e.outcomes[o] = metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", string(o))))
	}
	return e, nil
}

// Start listens. A mistake that only an operator's edit can mend fails the start. A store that is away does not.
func (e *oracleExtension) Start(ctx context.Context, host component.Host) error {
	rules, err := rulefile.Sources{Rules: e.cfg.Rules, Declared: e.cfg.Tools, Live: e.cfg.Live, Refused: e.cfg.Refuse}.Read()
	if err != nil {
		return err
	}
	verifier, err := e.cfg.RedactionKey.load()
	if err != nil {
		return fmt.Errorf("redaction_key: %w", err)
	}
	if key, ok := verifier.(*redact.Key); ok && key != nil && key.Concern() != "" {
		e.set.Logger.Warn(key.Concern())
	}
	e.options = oracle.Options{Rules: rules, Verifier: verifier}
	if _, err := e.open(ctx); errors.Is(err, deck.ErrBadURL) || errors.Is(err, deck.ErrLayout) {
		return fmt.Errorf("open deck: %w", err)
	} else if err != nil {
		e.set.Logger.Warn("deck cannot be opened yet and will be tried again with the first call", zap.Error(err))
	}
	e.handler = oraclehttp.NewHandler(oraclehttp.Config{
		Library: e, LocalOnly: e.cfg.private(), MaxBody: e.cfg.HTTP.MaxRequestBodySize, MaxSessions: e.cfg.MaxSessions, MaxCalls: e.cfg.MaxCalls,
		SessionAge: e.cfg.SessionAge, Speed: e.cfg.Speed, Answered: e.answered,
	})
	if e.server, err = e.cfg.HTTP.ToServer(ctx, host.GetExtensions(), e.set, e.handler); err != nil {
		return err
	}
	listener, err := e.cfg.HTTP.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	e.address = listener.Addr()
	e.done.Go(func() {
		if err := e.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// Shutdown lets running requests finish, those that wait for a latency at once.
func (e *oracleExtension) Shutdown(ctx context.Context) error {
	defer e.telemetry.Shutdown()
	var err error
	if e.server != nil {
		e.handler.Close()
		if err = e.server.Shutdown(ctx); err != nil {
			err = errors.Join(err, e.server.Close())
		}
		e.done.Wait()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deck != nil {
		err = errors.Join(err, e.deck.Close())
		e.deck, e.library = nil, nil
	}
	return err
}

func (e *oracleExtension) open(ctx context.Context) (*oracles.Library, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.library == nil {
		d, err := deck.Open(ctx, e.cfg.Deck)
		if err != nil {
			return nil, err
		}
		e.deck, e.library = d, oracles.New(d, e.options)
		e.library.Tenant = e.cfg.Tenant
	}
	return e.library, nil
}

// Open implements oraclehttp.Library.
func (e *oracleExtension) Open(ctx context.Context, run string) (string, *oracle.Oracle, error) {
	library, err := e.open(ctx)
	if err != nil {
		return "", nil, err
	}
	return library.Open(ctx, run)
}

func (e *oracleExtension) answered(ctx context.Context, replayRunID string, q *oracle.Query, a *oracle.Answer) {
	e.telemetry.ExtensionOracleCalls.Add(ctx, 1, e.outcomes[a.Outcome])
	if a.Outcome.Missed() {
		e.set.Logger.Info("call was missed", zap.String("replay_run_id", replayRunID), zap.Int("call", a.Call), zap.String("outcome", string(a.Outcome)),
			zap.String("tool_name", q.ToolName), zap.String("args_hash", q.ArgsHash))
	}
}
