// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

// The tours are what three newcomers do first. Each ends with an error at the first step that does not do what it says.
func TestToursEndWell(t *testing.T) {
	for _, tour := range []string{"developer", "eval", "platform"} {
		t.Run(tour, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(repository, "examples", "tours", tour+".sh"))
			cmd.Env = append(os.Environ(), "TOUR="+t.TempDir(), "PATH="+filepath.Dir(program(t, "tapedeck"))+string(os.PathListSeparator)+os.Getenv("PATH"),
				"ORACLE_LISTEN="+freeAddress(t))
			if tour == "platform" {
				program(t, slim)
				_, port, _ := cutLast(freeAddress(t), ":")
				bucket := decktest.S3(t)
				cmd.Env = append(append(cmd.Env, bucket.Env...), "TAPEDECK_DECK="+bucket.URL, "OTLP_GRPC_ENDPOINT="+freeAddress(t), "OTLP_HTTP_ENDPOINT="+freeAddress(t),
					"HEALTH_ENDPOINT="+freeAddress(t), "METRICS_PORT="+port)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
