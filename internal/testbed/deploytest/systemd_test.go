// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unit reads the settings of a unit file.
func unit(t *testing.T, path string) map[string][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	settings := map[string][]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf("no setting: %s", line)
		}
		settings[name] = append(settings[name], value)
	}
	return settings
}

func TestUnitIsHardened(t *testing.T) {
	path, err := filepath.Abs(filepath.Join(deploy, "systemd", "otelcol-tapedeck.service"))
	if err != nil {
		t.Fatal(err)
	}
	have := unit(t, path)
	for name, want := range map[string]string{
		"DynamicUser": "yes", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes",
		"ProtectKernelTunables": "yes", "ProtectKernelModules": "yes", "ProtectControlGroups": "yes", "RestrictNamespaces": "yes", "MemoryDenyWriteExecute": "yes",
		"RestrictSUIDSGID": "yes", "LockPersonality": "yes", "SystemCallArchitectures": "native", "StateDirectory": "otelcol-tapedeck", "StateDirectoryMode": "0700", "UMask": "0077",
	} {
		if got := have[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	// The one folder that can be written is the one that the spool is told.
	environment := unit(t, filepath.Join(filepath.Dir(path), "environment"))
	if spool := environment["TAPEDECK_SPOOL"]; len(spool) != 1 || !strings.HasPrefix(spool[0], "/var/lib/"+have["StateDirectory"][0]+"/") {
		t.Errorf("the spool lies at %q", spool)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("CI need not have systemd; the unit was read, and neither verified nor its exposure measured: ", err)
	}
	// The programs are not where the unit says; everything else has to be right.
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(t.TempDir(), "otelcol-tapedeck.service")
	if err := os.WriteFile(here, []byte(strings.ReplaceAll(string(body), "/usr/local/bin/otelcol-tapedeck", "/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", here).CombinedOutput(); err != nil || len(strings.TrimSpace(string(out))) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", here).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: exposed more than 2.0: %v\n%s", err, out)
	}
}
