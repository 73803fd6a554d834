// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestAReplayGetsWhatProgramsNeedAndWhatIsNamed(t *testing.T) {
	environ := []string{
		"PATH=/bin", "LC_ALL=C", "PYTHONPATH=/x", "NODE_ENV=test", "NODE_AUTH_TOKEN=s", "GOPATH=/go", "GOOGLE_APPLICATION_CREDENTIALS=/s", "GOPROXY=https://u:s@proxy.test",
		"OTEL_SERVICE_NAME=clerk", "OTEL_EXPORTER_OTLP_LOGS_HEADERS=s", "OPENAI_MODEL=m", "OPENAI_ADMIN_KEY=s", "AWS_REGION=r", "AWS_SECRET_ACCESS_KEY=s", "SSH_AUTH_SOCK=/s",
		"CLERK_MODE=fast", "CLERK_TOKEN=s", RedactionKeyVariable + "=s", OracleTokenVariable + "=s", "MALFORMED",
	}
	always := []string{"PATH=/bin", "LC_ALL=C", "PYTHONPATH=/x", "NODE_ENV=test", "GOPATH=/go", "OTEL_SERVICE_NAME=clerk", "OPENAI_MODEL=m", "AWS_REGION=r", "MALFORMED"}
	for _, c := range []struct {
		choice Choice
		more   []string
	}{
		{Choice{}, nil},
		{Choice{Names: []string{"CLERK_MODE", "NOT_SET", "GOPROXY"}}, []string{"CLERK_MODE=fast", "GOPROXY=https://u:s@proxy.test"}},
		{Choice{Patterns: []string{"CLERK_*", "TAPEDECK_*"}}, []string{"CLERK_MODE=fast", "CLERK_TOKEN=s"}},
		{Choice{Names: []string{OracleTokenVariable}}, []string{OracleTokenVariable + "=s"}},
		{Choice{OfProgram: func(name string) bool { return name != "SSH_AUTH_SOCK" }}, []string{"CLERK_MODE=fast"}},
	} {
		passed, withheld := c.choice.Replay(environ)
		want := append(slices.Clone(always), c.more...)
		slices.Sort(want)
		got := slices.Sorted(slices.Values(passed))
		if !slices.Equal(got, want) {
			t.Errorf("%+v: passed %q\nwant %q", c.choice, got, want)
		}
		named := strings.Join(withheld, " ")
		if strings.Contains(named, "TAPEDECK_") || !slices.IsSorted(withheld) || strings.Contains(named, "CLERK_MODE") == slices.Contains(passed, "CLERK_MODE=fast") {
			t.Errorf("%+v: withheld %q", c.choice, withheld)
		}
	}
}

func TestAProgramLosesTheSecretsOfTapedeckAlone(t *testing.T) {
	environ := []string{"PATH=/bin", "OPENAI_API_KEY=k", "AWS_SECRET_ACCESS_KEY=s", RedactionKeyVariable + "=s", OracleTokenVariable + "=s"}
	secrets := []string{"AWS_SECRET_ACCESS_KEY"}
	for _, c := range []struct {
		choice   Choice
		secrets  []string
		withheld []string
		want     []string
	}{
		{Choice{}, nil, nil, environ[:3]},
		{Choice{}, secrets, secrets, environ[:2]},
		{Choice{Patterns: []string{"*"}}, secrets, nil, environ[:3]},
		{Choice{Names: []string{OracleTokenVariable}}, secrets, secrets, []string{"PATH=/bin", "OPENAI_API_KEY=k", OracleTokenVariable + "=s"}},
	} {
		passed, withheld := c.choice.Program(environ, c.secrets)
		if !slices.Equal(passed, c.want) || !slices.Equal(withheld, c.withheld) {
			t.Errorf("%+v: %q, %q; want %q, %q", c.choice, passed, withheld, c.want, c.withheld)
		}
	}
}

// Some secrets stand in a variable that is not named like one: in an address, among the options of a runtime.
func TestAVariableIsWithheldForItsValue(t *testing.T) {
	for variable, want := range map[string]bool{
		"HTTP_PROXY=http://proxy.test:3128": true, "HTTP_PROXY=http://u:s@proxy.test": false, "HTTP_PROXY=u:s@proxy.test:3128": false,
		"GOPROXY=https://proxy.test,direct": true, "GOPROXY=https://proxy.test,https://t0ken@other.test": false,
		"JAVA_TOOL_OPTIONS=-Xmx1g -Dmax.tokens=4096 -Djavax.net.ssl.trustStore=/x": true,
		"JAVA_TOOL_OPTIONS=-Xmx1g -Dspring.datasource.password=s":                  false,
		"MAVEN_OPTS=-Dapi.key=s": false, "OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.test/?api-key=s": false, "OTEL_RESOURCE_ATTRIBUTES=service.name=a,deploy_token=s": false,
		"PATH=/opt/token:/opt/bypass:/bin": true, "GIT_AUTHOR_EMAIL=ann@example.test": true, "GIT_AUTHOR_NAME=Ann": true,
		"OPENAI_api_key=s": false, "OPENAI_AUTH=s": false, "OPENAI_PWD=s": false, "OPENAI_DEFAULT_HEADERS_JSON=s": false,
	} {
		passed, withheld := Choice{}.Replay([]string{variable})
		if name, _, _ := strings.Cut(variable, "="); (len(passed) == 1) != want || (len(withheld) == 1 && withheld[0] == name) == want {
			t.Errorf("%s: passed %q, withheld %q", variable, passed, withheld)
		}
	}
}

// A client that refuses to start without its key starts, and no key is in its way to the stub.
func TestAWithheldKeyIsStoodInFor(t *testing.T) {
	environ := []string{"AZURE_OPENAI_ENDPOINT=https://mine.openai.azure.com", "TAVILY_API_KEY=s", "GITHUB_TOKEN=s"}
	got := fmt.Sprint(Services{Model: "http://127.0.0.1:1"}.StandIns(environ, []string{"GITHUB_TOKEN", "TAVILY_API_KEY"}))
	if want := fmt.Sprint([]Variable{{Name: "TAVILY_API_KEY", Value: dummyKey}, {Name: "AZURE_OPENAI_ENDPOINT", Value: "http://127.0.0.1:1"}}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	got = fmt.Sprint(Services{Model: "http://127.0.0.1:1"}.StandIns([]string{"AWS_PROFILE=work"}, nil)) // an agent of AWS signs what it asks
	if want := fmt.Sprint([]Variable{{Name: "AWS_ACCESS_KEY_ID", Value: dummyKey}, {Name: "AWS_SECRET_ACCESS_KEY", Value: dummyKey}}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (Services{Model: "http://127.0.0.1:1"}).StandIns([]string{"AWS_REGION=eu-west-1"}, nil); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestWhatWasWithheldIsALineOfTheReport(t *testing.T) {
	var r Report
	for i := range maxWithheld + 2 {
		r.Withheld = append(r.Withheld, fmt.Sprintf("V%02d", i))
	}
	notes := r.Notes()
	if len(notes) != 1 || !strings.Contains(notes[0], "did not get V00, V01, ") || !strings.Contains(notes[0], "V39 and 2 more (--print-env)") || strings.Contains(notes[0], "V40") {
		t.Errorf("%q", notes)
	}
}
