// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package collectorproc

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// role makes the test binary play a collector: the tests here are about processes, not about telemetry.
const role = "TAPEDECK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		goleak.VerifyTestMain(m)
	case "broken":
		fmt.Fprintln(os.Stderr, "unknown component: nosuch")
		os.Exit(1)
	case "deaf":
		select {}
	case "healthy", "stubborn":
		play(os.Getenv(role) == "stubborn")
	}
}

// play answers the health check until SIGTERM, or whatever comes if it is stubborn.
func play(stubborn bool) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go func() {
		fmt.Println("ready on", os.Getenv("OTLP_GRPC_ENDPOINT"), os.Args[1:])
		err := http.ListenAndServe(os.Getenv("HEALTH_ENDPOINT"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}()
	<-stop
	if stubborn {
		select {}
	}
	fmt.Println("stopped in order")
	os.Exit(0)
}

func start(t *testing.T, part string) (*Process, error) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if part == "deaf" {
		cancel()
	}
	p, err := Start(ctx, Options{Binary: binary, Args: []string{"--config", "some.yaml"}, Env: []string{role + "=" + part}})
	if err == nil {
		t.Cleanup(func() {
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		})
	}
	return p, err
}

func TestStartReturnsWhenTheHealthCheckAnswers(t *testing.T) {
	p, err := start(t, "healthy")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Terminate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{p.GRPC, "[--config some.yaml]", "stopped in order"} {
		if !strings.Contains(p.Log(), want) {
			t.Errorf("%q is not in the log:\n%s", want, p.Log())
		}
	}
}

func TestRestartTakesOverTheAddresses(t *testing.T) {
	first, err := start(t, "healthy")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	second, err := Start(t.Context(), Options{Binary: binary, Env: []string{role + "=healthy"}, Same: first})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Kill(); err != nil {
		t.Error(err)
	}
	if first.GRPC != second.GRPC || first.HTTP != second.HTTP || first.Health != second.Health || first.Metrics != second.Metrics {
		t.Errorf("%+v became %+v", first, second)
	}
}

func TestStartTellsWhyTheCollectorEnded(t *testing.T) {
	if _, err := start(t, "broken"); err == nil || !strings.Contains(err.Error(), "unknown component: nosuch") {
		t.Errorf("got %v", err)
	}
}

func TestStartGivesUpWithItsContext(t *testing.T) {
	if _, err := start(t, "deaf"); err == nil || !strings.Contains(err.Error(), "not ready in time") {
		t.Errorf("got %v", err)
	}
}

func TestTerminateKillsWhatDoesNotStop(t *testing.T) {
	p, err := start(t, "stubborn")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Terminate(ctx); err == nil {
		t.Error("a killed collector was reported as stopped in order")
	}
	<-p.Exited()
}
