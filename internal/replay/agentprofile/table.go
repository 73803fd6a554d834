// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

// dummyKey stands in place of keys of providers.
const dummyKey = "tapedeck"

// codexOption is a setting of Codex on its command line.
func codexOption(key, value string) Setting {
	return Setting{Flags: []string{"-c", "--config"}, Name: key, Value: value}
}

// Table has a row for each program that is known.
var Table = []Profile{
	{
		ID: "claude", Name: "Claude Code", Dialect: "claude-code",
		Example:  `claude -p "What does this folder hold?" --allowedTools Read,Edit,Bash`,
		Programs: []string{"claude"}, Packages: []string{"@anthropic-ai/claude-code"},
		Record: []Setting{
			{Name: "CLAUDE_CODE_ENABLE_TELEMETRY", Value: "1"}, {Name: "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", Value: "1"}, {Name: "OTEL_LOG_USER_PROMPTS", Value: "1"},
			{Name: "OTEL_LOG_ASSISTANT_RESPONSES", Value: "1"}, {Name: "OTEL_LOG_TOOL_DETAILS", Value: "1"}, {Name: "OTEL_LOG_TOOL_CONTENT", Value: "1"},
			{Name: BodiesVariable, Value: "file:{dir}/" + bodiesDir},
		},
		Replay: []Setting{
			{Name: "ANTHROPIC_BASE_URL", Value: "{model}", Address: true}, {Name: "DISABLE_AUTOUPDATER", Value: "1"},
			{Name: "ANTHROPIC_API_KEY", Value: "sk-ant-api03-" + dummyKey, Address: true}, // with one of another form it asks another model for a title
			{Name: "CLAUDE_CODE_USE_BEDROCK", Unset: true}, {Name: "CLAUDE_CODE_USE_VERTEX", Unset: true}, {Name: "CLAUDE_CODE_USE_FOUNDRY", Unset: true},
		},
		Passes:      []string{"CLAUDE_CODE_*", "CLAUDE_CONFIG_DIR", "DISABLE_*", "MAX_THINKING_TOKENS", "MAX_MCP_OUTPUT_TOKENS", "BASH_*"},
		Transcripts: "~/.claude/projects", HomeVariable: "CLAUDE_CONFIG_DIR", Requests: "claude_code_transcript.api-request",
	},
	{
		ID: "codex", Name: "Codex CLI", Dialect: "codex",
		Example:  `codex exec --skip-git-repo-check "What does this folder hold?"`,
		Programs: []string{"codex"}, Packages: []string{"@openai/codex"},
		Record: []Setting{
			codexOption("otel.exporter", `{otlp-http={endpoint="{otlp}/v1/logs",protocol="binary"}}`),
			codexOption("otel.trace_exporter", `{otlp-http={endpoint="{otlp}/v1/traces",protocol="binary"}}`),
			codexOption("otel.log_user_prompt", "true"),
		},
		Replay: []Setting{
			needs("OPENAI_API_KEY", codexOption("model_provider", `"tapedeck"`)),
			needs("OPENAI_API_KEY", codexOption("model_providers.tapedeck", `{name="OpenAI",base_url="{model}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`)),
			codexOption("analytics.enabled", "false"), codexOption("check_for_update_on_startup", "false"), codexOption("otel.metrics_exporter", `"none"`),
			{Name: "CODEX_API_KEY", Value: dummyKey, Address: true},
		},
		Passes:      []string{"CODEX_*"},
		Lacks:       "the telemetry of Codex holds neither what its model was sent nor what it answered; its transcript does, and record reads it",
		Transcripts: "~/.codex/sessions", HomeVariable: "CODEX_HOME",
	},
	{
		ID: "copilot", Name: "GitHub Copilot CLI", Dialect: "copilot-cli",
		Example:  `copilot -p "What does this folder hold?" --allow-all-tools`,
		Programs: []string{"copilot"}, Packages: []string{"@github/copilot"},
		Record: []Setting{{Name: "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", Value: "true"}},
		Replay: []Setting{
			{Name: "COPILOT_PROVIDER_BASE_URL", Value: "{model}/v1", Address: true}, {Name: "COPILOT_PROVIDER_API_KEY", Value: dummyKey, Address: true},
			{Name: "COPILOT_MODEL", Value: "{name}"}, {Name: "COPILOT_AUTO_UPDATE", Value: "false"},
		},
		Passes:      []string{"COPILOT_*"},
		Transcripts: "~/.copilot/session-state",
	},
	{
		ID: "gemini", Name: "Gemini CLI", Dialect: "gemini-cli",
		Example:  `gemini --yolo -p "What does this folder hold?"`,
		Programs: []string{"gemini"}, Packages: []string{"@google/gemini-cli"},
		Record: []Setting{
			{Name: "GEMINI_TELEMETRY_ENABLED", Value: "true"}, {Name: "GEMINI_TELEMETRY_TRACES_ENABLED", Value: "true"}, {Name: "GEMINI_TELEMETRY_LOG_PROMPTS", Value: "true"},
			{Name: "GEMINI_TELEMETRY_TARGET", Value: "local", Address: true}, {Name: "GEMINI_TELEMETRY_OTLP_PROTOCOL", Value: "http", Address: true},
			{Name: "GEMINI_TELEMETRY_OTLP_ENDPOINT", Value: "{otlp}", Address: true},
		},
		Replay: []Setting{
			{Name: "GOOGLE_GEMINI_BASE_URL", Value: "{model}", Address: true}, {Name: "GEMINI_API_KEY", Value: dummyKey, Address: true}, {Name: "GOOGLE_GENAI_USE_GCA", Value: "false", Address: true},
			{
				Name: "GEMINI_CLI_HOME", File: "settings.json", Home: ".gemini", Within: ".gemini", Skip: []string{"tmp", "history", "oauth_creds.json", "google_accounts.json"},
				Unless: `"selectedType"\s*:\s*"gemini-api-key"`, // without it the address of the stub is taken for a gateway
				Value:  `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`,
			},
		},
		Passes:      []string{"GEMINI_*", "SANDBOX"},
		Transcripts: "~/.gemini/tmp/*/chats",
	},
	{
		ID: "qwen", Name: "Qwen Code", Dialect: "qwen-code",
		Example:  `qwen --yolo -p "What does this folder hold?"`,
		Programs: []string{"qwen"}, Packages: []string{"@qwen-code/qwen-code"},
		Record: []Setting{
			{Name: "QWEN_TELEMETRY_ENABLED", Value: "true"}, {Name: "QWEN_TELEMETRY_LOG_PROMPTS", Value: "true"}, {Name: "QWEN_TELEMETRY_INCLUDE_SENSITIVE_SPAN_ATTRIBUTES", Value: "true"},
			{Name: "QWEN_TELEMETRY_TARGET", Value: "local", Address: true}, {Name: "QWEN_TELEMETRY_OTLP_PROTOCOL", Value: "http", Address: true},
			{Name: "QWEN_TELEMETRY_OTLP_ENDPOINT", Value: "{otlp}", Address: true},
		},
		Replay: []Setting{
			{Flags: []string{"--openai-base-url"}, Value: "{model}/v1", Given: true}, {Flags: []string{"--openai-api-key"}, Value: dummyKey, Given: true},
			{Name: "HTTP_PROXY", Unset: true}, {Name: "HTTPS_PROXY", Unset: true}, {Name: "http_proxy", Unset: true}, {Name: "https_proxy", Unset: true}, // it takes one for the loopback too
			{Name: "OPENAI_MODEL", Value: "{name}"}, {Name: "QWEN_DEFAULT_AUTH_TYPE", Value: "openai"},
			{
				Name: "QWEN_CODE_SYSTEM_SETTINGS_PATH", File: "settings.json",
				Value: `{"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},"security":{"auth":{"selectedType":"openai","apiKey":"tapedeck","baseUrl":"{model}/v1"}}}`,
			},
		},
		Passes:      []string{"QWEN_*"},
		Transcripts: "~/.qwen/projects",
	},
	{
		ID: "opencode", Name: "OpenCode", Dialect: "vercel-ai",
		Example:  `opencode run "What does this folder hold?"`,
		Programs: []string{"opencode"}, Packages: []string{"opencode-ai"},
		Record: []Setting{{Name: "OPENCODE_CONFIG_CONTENT", Value: `{"experimental":{"openTelemetry":true}}`, Merged: true}},
		Replay: []Setting{
			{
				Name: "OPENCODE_CONFIG_CONTENT", Merged: true, Address: true,
				Value: `{"autoupdate":false,"share":"disabled","provider":{"openai":{"options":{"baseURL":"{model}/v1","apiKey":"tapedeck"}},"anthropic":{"options":{"baseURL":"{model}/v1","apiKey":"tapedeck"}},"google":{"options":{"baseURL":"{model}/v1beta","apiKey":"tapedeck"}}}}`,
			},
			{Name: "OPENCODE_DISABLE_AUTOUPDATE", Value: "1"}, {Name: "OPENCODE_DISABLE_MODELS_FETCH", Value: "1"}, {Name: "OPENCODE_DISABLE_SHARE", Value: "1"},
		},
		Passes:      []string{"OPENCODE_*"},
		Transcripts: "~/.local/share/opencode/opencode.db",
	},
	{
		ID: "mini", Name: "mini-swe-agent", Common: true, Instrument: true,
		Example:  `mini -y --exit-immediately -m openai/gpt-4o -t "What does this folder hold?"`,
		Programs: []string{"mini", "mini-swe-agent", "mini-extra"}, Packages: []string{"mini-swe-agent"}, Modules: []string{"minisweagent"},
		Replay: []Setting{{Name: "ANTHROPIC_API_BASE", Value: "{model}", Address: true}, {Name: "LITELLM_LOCAL_MODEL_COST_MAP", Value: "True"}},
		Passes: []string{"MSWEA_*", "LITELLM_*"},
	},
	{
		ID: "aider", Name: "aider", Instrument: true,
		Example:  `aider --yes-always --message "What does this folder hold?" src/app.py`,
		Programs: []string{"aider"}, Packages: []string{"aider-chat"}, Modules: []string{"aider"},
		Record: []Setting{{Name: "AIDER_STREAM", Value: "false"}}, // of a streamed answer the instrumentation records no text
		Replay: []Setting{
			{Flags: []string{"--openai-api-base"}, Value: "{model}/v1", Given: true}, {Flags: []string{"--openai-api-key"}, Value: dummyKey, Given: true}, {Flags: []string{"--anthropic-api-key"}, Value: dummyKey, Given: true},
			{Name: "AIDER_OPENAI_API_BASE", Value: "{model}/v1", Address: true}, {Name: "ANTHROPIC_API_BASE", Value: "{model}", Address: true},
			{Name: "AIDER_ANALYTICS", Value: "false"}, {Name: "AIDER_CHECK_UPDATE", Value: "false"}, {Name: "LITELLM_LOCAL_MODEL_COST_MAP", Value: "True"},
		},
		Passes: []string{"AIDER_*", "LITELLM_*"},
	},
	{
		ID: "smolagent", Name: "smolagents CLI", Instrument: true,
		Example:  `smolagent "What does this folder hold?" --model-type OpenAIServerModel --model-id gpt-4o`,
		Programs: []string{"smolagent", "webagent"}, Packages: []string{"smolagents"}, Modules: []string{"smolagents.cli"},
		Replay: []Setting{{Flags: []string{"--api-base"}, Value: "{model}/v1", Given: true}, {Flags: []string{"--api-key"}, Value: dummyKey, Given: true}},
	},
	{
		ID: "pi", Name: "pi", Common: true,
		Example:  `pi -p "What does this folder hold?"`,
		Programs: []string{"pi"}, Packages: []string{"@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"},
		Replay: []Setting{
			{
				Name: "PI_CODING_AGENT_DIR", File: "models.json", Home: ".pi/agent", Skip: []string{"sessions", "auth.json"},
				Value: `{"providers":{"openai":{"baseUrl":"{model}/v1","apiKey":"tapedeck"},"anthropic":{"baseUrl":"{model}","apiKey":"tapedeck"},"google":{"baseUrl":"{model}/v1beta","apiKey":"tapedeck"}}}`,
			},
			{Flags: []string{"--api-key"}, Value: dummyKey, Given: true}, {Name: "PI_OFFLINE", Value: "1"}, {Name: "PI_TELEMETRY", Value: "0"},
		},
		Passes:      []string{"PI_*"},
		Lacks:       noTelemetry,
		Transcripts: "~/.pi/agent/sessions",
	},
	{
		ID: "cline", Name: "Cline CLI",
		Example:  `cline "What does this folder hold?"`,
		Programs: []string{"cline"}, Packages: []string{"cline"},
		Replay: []Setting{
			{Name: "CLINE_DATA_DIR", File: "settings/providers.json", Home: ".cline/data", Skip: []string{"sessions", "logs", "db", "workspaces"}},
			{Flags: []string{"-k", "--key"}, Value: dummyKey, Given: true}, {Name: "CLINE_NO_AUTO_UPDATE", Value: "1"},
		},
		Passes:      []string{"CLINE_*"},
		Lacks:       noTelemetry,
		Transcripts: "~/.cline/data/sessions",
	},
	{
		ID: "cn", Name: "Continue CLI", Common: true,
		Example:  `cn --config config.yaml -p "What does this folder hold?"`,
		Programs: []string{"cn"}, Packages: []string{"@continuedev/cli"},
		Replay: []Setting{
			{Flags: []string{"--config"}, Copied: true, Given: true},
			{Name: "CONTINUE_GLOBAL_DIR", File: "config.yaml", Home: ".continue", Skip: []string{"sessions", "logs", "index", "auth.json"}},
			{Name: "CONTINUE_METRICS_ENABLED", Value: "0"},
		},
		Passes:      []string{"CONTINUE_*"},
		Lacks:       noTelemetry,
		Transcripts: "~/.continue/sessions",
	},
}

// Unknown is the profile of every other command: Claude Code may run within one, as it does for the Claude
// Agent SDK.
var Unknown = Profile{Record: []Setting{{Name: BodiesVariable, Value: "file:{dir}/" + bodiesDir}}}

func needs(key string, s Setting) Setting {
	s.Needs = key
	return s
}

// noTelemetry is what Profile.Lacks says of a program that records nothing.
const noTelemetry = "it has no telemetry; tapedeck record --tee makes a tape of its model calls"
