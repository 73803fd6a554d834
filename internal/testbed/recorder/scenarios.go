// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// scenario is the script of one run.
type scenario struct {
	name     string
	user     string
	history  []message
	main     agent
	sub      *subagent
	stream   bool
	maxSteps int // the driver cuts the loop after as many model calls; 0: none
}

// agent is what one agent is given and what its model says.
type agent struct {
	system string
	tools  []tool
	turns  []turn
}

// subagent is an agent that is a tool of the main agent, with the argument "question".
type subagent struct {
	name, description string
	agent
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// turn is one answer of a model: a text, calls, both, or an HTTP status that says why there is none.
type turn struct {
	text  string
	calls []call
	fail  int
}

// call is what the model asks for, as the text it writes, and what the tool does then. args is a JSON object.
type call struct {
	name, args string
	result     string // JSON
	err        string
	takes      time.Duration
}

func object(properties string, required ...string) json.RawMessage {
	names, _ := json.Marshal(append([]string{}, required...)) // texts always marshal
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `}`)
}

func text(name string) string { return `"` + name + `":{"type":"string"}` }

func number(name string) string { return `"` + name + `":{"type":"integer"}` }

var (
	searchTool    = tool{"search_docs", "Search the handbook.", object(text("query")+`,"limit":{"type":"integer"}`, "query", "limit")}
	lookupTool    = tool{"get_article", "Read an article of the handbook.", object(text("article_id"), "article_id")}
	calculateTool = tool{"calculate", "Evaluate an expression.", object(text("expression"), "expression")}
	weatherTool   = tool{"get_weather", "Tell the weather of a city.", object(text("city"), "city")}
	queueTool     = tool{"get_job", "Tell the state of a job.", object(text("job"), "job")}
	reserveTool   = tool{"reserve", "Reserve a seat.", object(text("event")+","+text("row"), "event", "row")}
	invoiceTool   = tool{"get_invoice", "Read an invoice.", object(text("invoice_id"), "invoice_id")}
	noteTool      = tool{"save_note", "Save a note.", object(text("title")+","+text("body"), "title", "body")}
	recordTool    = tool{"put_record", "Store a record.", object(`"record":{"type":"object","additionalProperties":true},"tags":{"type":"array","items":{"type":"string"}}`, "record", "tags")}
	crawlTool     = tool{"crawl", "Fetch a page.", object(number("page"), "page")}
	roomsTool     = tool{"list_rooms", "List the free rooms.", object("")}
	vaultTool     = tool{"read_vault", "Read credentials.", object(text("path")+","+text("token"), "path", "token")}
	requestTool   = tool{"http_request", "Send a request.", object(text("method")+","+text("url")+`,"headers":{"type":"object","additionalProperties":{"type":"string"}},`+text("body"), "method", "url", "headers", "body")}
	validateTool  = tool{"validate_order", "Validate an order.", object(`"order":{"type":"object","additionalProperties":true},"options":{"type":"object","additionalProperties":true}`, "order", "options")}
	translateTool = tool{"translate", "Translate a text.", object(text("text")+","+text("target")+","+text("note"), "text", "target", "note")}
	exportTool    = tool{"export_table", "Export a table.", object(text("table")+","+text("format"), "table", "format")}
	filesTool     = tool{"list_files", "List the files of a folder.", object(text("dir"), "dir")}
	startTool     = tool{"start_job", "Start a job.", object(text("job"), "job")}
	statusTool    = tool{"poll_job_status", "Tell the state of a job that was started.", object(text("job_id"), "job_id")}
	heroTool      = tool{"pick_hero", "Pick a hero.", object(text("genre")+`,"seed":{"type":"number"}`, "genre", "seed")}
)

func probes(names ...string) (tools []tool) {
	for _, name := range names {
		tools = append(tools, tool{name, "Probe an endpoint (" + name + ").", object("")})
	}
	return tools
}

// quoted is a text as JSON.
func quoted(s string) string {
	doc, _ := json.Marshal(s) // a text always marshals
	return string(doc)
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func scenarios() []scenario {
	long := make([]string, 900)
	for i := range long {
		long[i] = fmt.Sprintf("Row %d of the ledger: paid on day %d of the month.", i, i%28+1)
	}
	table := make([]string, 1000)
	for i := range table {
		table[i] = fmt.Sprintf(`%05d,host-%d.example.test,%d,"status=OK; note=row ""%d"""`, i, i, i*919%1000, i)
	}
	return []scenario{
		{name: "plain_answer", user: "What is the capital of Portugal?", main: agent{system: "You are a terse geography assistant.",
			turns: []turn{{text: "The capital of Portugal is Lisbon."}}}},
		{name: "research_chain", user: "How many days of leave do three engineers have together?",
			main: agent{system: "You answer from the handbook. Show your sources.", tools: []tool{searchTool, lookupTool, calculateTool}, turns: []turn{
				{text: "I will search the handbook first.", calls: []call{{name: "search_docs", args: `{"query": "annual leave engineers", "limit": 2}`, result: `{"hits":[{"id":"hb-17","title":"Annual leave"},{"id":"hb-3","title":"Sick leave"}],"total":2}`}}},
				{calls: []call{{name: "get_article", args: `{"article_id": "hb-17"}`, result: `{"id":"hb-17","text":"Engineers have 28 days of annual leave.","revision":4}`}}},
				{calls: []call{{name: "calculate", args: `{"expression": "3 * 28"}`, result: `84`}}},
				{text: "Three engineers have 84 days of leave together (handbook article hb-17)."}}}},
		{name: "parallel_tools", user: "Compare the weather in Oslo, Rome and Cairo.",
			main: agent{system: "You are a weather assistant.", tools: []tool{weatherTool}, turns: []turn{
				{calls: []call{
					{name: "get_weather", args: `{"city": "Oslo"}`, result: `{"city":"Oslo","celsius":-3.5,"sky":"snow"}`, takes: ms(60)},
					{name: "get_weather", args: `{"city": "Rome"}`, result: `{"city":"Rome","celsius":18,"sky":"clear"}`, takes: ms(30)},
					{name: "get_weather", args: `{"city": "Cairo"}`, result: `{"city":"Cairo","celsius":31,"sky":"dust"}`}}},
				{text: "Oslo has snow at -3.5 degrees, Rome is clear at 18, Cairo dusty at 31."}}}},
		{name: "parallel_identical", user: "Reserve two seats in row C of the spring concert.",
			main: agent{system: "You reserve seats, one call per seat.", tools: []tool{reserveTool}, turns: []turn{
				{calls: []call{
					{name: "reserve", args: `{"event": "spring concert", "row": "C"}`, result: `{"seat":"C11","price":40}`},
					{name: "reserve", args: `{"event": "spring concert", "row": "C"}`, result: `{"seat":"C12","price":40}`, takes: ms(20)}}},
				{text: "Seats C11 and C12 are reserved for 80 in all."}}}},
		{name: "tool_error_retry", user: "What does invoice INV-2044 say?",
			main: agent{system: "You read invoices. Try again when a service is busy.", tools: []tool{invoiceTool}, turns: []turn{
				{calls: []call{{name: "get_invoice", args: `{"invoice_id": "INV-2044"}`, err: "upstream ledger timed out after 30s"}}},
				{calls: []call{{name: "get_invoice", args: `{"invoice_id": "INV-2044"}`, result: `{"invoice_id":"INV-2044","total":129.5,"currency":"EUR"}`}}},
				{text: "Invoice INV-2044 is over 129.50 EUR."}}}},
		{name: "poll_same_args", user: "Wait until job 7781 is done and tell me.",
			main: agent{system: "You watch jobs.", tools: []tool{queueTool}, turns: []turn{
				{calls: []call{{name: "get_job", args: `{"job": "7781"}`, result: `{"job":"7781","state":"queued"}`}}},
				{calls: []call{{name: "get_job", args: `{"job": "7781"}`, result: `{"job":"7781","state":"running"}`}}},
				{calls: []call{{name: "get_job", args: `{"job": "7781"}`, result: `{"job":"7781","state":"done"}`}}},
				{text: "Job 7781 is done."}}}},
		{name: "large_result", user: "Summarise the ledger article.",
			main: agent{system: "You summarise.", tools: []tool{lookupTool}, turns: []turn{
				{calls: []call{{name: "get_article", args: `{"article_id": "ledger-2026"}`, result: quoted(strings.Join(long, "\n"))}}},
				{text: "The ledger lists 900 payments, each on a day of the month."}}}},
		{name: "unicode_args", user: "Save the greeting \u201cGrüße, 世界 🌍\u201d.",
			main: agent{system: "You save notes.", tools: []tool{noteTool}, turns: []turn{
				{calls: []call{{name: "save_note", args: `{"title": "Gr\u00fc\u00dfe \ud83c\udf0d", "body": "世界 \"quoted\" \\ back\nnew line\tשלום"}`, result: `{"saved":true,"title":"Grüße 🌍","bytes":48}`}}},
				{text: "Gespeichert: Grüße 🌍 (48 bytes)."}}}},
		{name: "nested_json", user: "Store the order record of customer 42.",
			main: agent{system: "You store records exactly as given.", tools: []tool{recordTool}, turns: []turn{
				{calls: []call{{name: "put_record", args: `{"record": {"z": 1, "a": {"list": [1, 2.5, null, true, {"deep": ["x", []]}], "empty": {}}, "customer": 42}, "tags": ["order", "eu"]}`,
					result: quoted(`{"stored": true, "id": "rec-9", "echo": {"customer": 42, "ratio": 0.125}}`)}}},
				{text: "The record is stored as rec-9."}}}},
		{name: "big_integers", user: "Store the snowflake record.",
			main: agent{system: "You store records exactly as given.", tools: []tool{recordTool}, turns: []turn{
				{calls: []call{{name: "put_record", args: `{"record": {"snowflake": 9007199254740993, "ratio": 1e-7}, "tags": []}`, result: `{"stored":true,"id":9007199254740995}`}}},
				{text: "The snowflake record is stored."}}}},
		{name: "odd_results", user: "Probe every endpoint and say what came back.",
			main: agent{system: "You probe endpoints.", tools: probes("probe_null", "probe_empty", "probe_zero", "probe_false", "probe_list", "probe_json_text"), turns: []turn{
				{calls: []call{{name: "probe_null", args: `{}`, result: `null`}, {name: "probe_empty", args: `{}`, result: `""`}, {name: "probe_zero", args: `{}`, result: `0`}}},
				{calls: []call{{name: "probe_false", args: `{}`, result: `false`}, {name: "probe_list", args: `{}`, result: `[1,"two",null,{"three":3}]`}, {name: "probe_json_text", args: `{}`, result: quoted(`{"looks": "like json", "n": 1.0}`)}}},
				{text: "Null, an empty text, 0, false, a list and a JSON text came back."}}}},
		{name: "text_results", user: "Which rooms are free, and what does the handbook say about them?",
			main: agent{system: "You are the office assistant.", tools: []tool{roomsTool, lookupTool}, turns: []turn{
				{calls: []call{{name: "list_rooms", args: `{}`, result: quoted("Free rooms: Aurora (4 seats), Borealis (12 seats)")}}},
				{text: "Aurora and Borealis are free; I look up their rules.", calls: []call{{name: "get_article", args: `{"article_id": "rooms"}`, result: quoted("# Rooms\n\n- Aurora: no food\n- Borealis: book *48h* ahead\n")}}},
				{text: "Aurora (no food) and Borealis (book 48h ahead) are free."}}}},
		{name: "one_of_two_fails", user: "Compare invoices INV-1 and INV-2.",
			main: agent{system: "You read invoices.", tools: []tool{invoiceTool}, turns: []turn{
				{calls: []call{
					{name: "get_invoice", args: `{"invoice_id": "INV-1"}`, result: `{"invoice_id":"INV-1","total":10}`, takes: ms(30)},
					{name: "get_invoice", args: `{"invoice_id": "INV-2"}`, err: "no invoice INV-2"}}},
				{text: "INV-1 is over 10; INV-2 does not exist."}}}},
		{name: "markdown_answer", user: "Tell me the weather in Lima as a table.",
			main: agent{system: "You are a weather assistant. Answer in Markdown.", tools: []tool{weatherTool}, turns: []turn{
				{calls: []call{{name: "get_weather", args: `{"city": "Lima"}`, result: `{"city":"Lima","celsius":19,"sky":"mist"}`}}},
				{text: "## Lima\n\n| what | value |\n|---|---|\n| sky | mist |\n| temperature | 19 |\n\n```json\n{\"city\": \"Lima\"}\n```"}}}},
		{name: "json_answer", user: "Give me job 12 as JSON.",
			main: agent{system: "You answer in JSON only.", tools: []tool{queueTool}, turns: []turn{
				{calls: []call{{name: "get_job", args: `{"job": "12"}`, result: `{"job":"12","state":"done","exit":0}`}}},
				{text: `{"job": "12", "state": "done", "exit": 0, "retries": []}`}}}},
		{name: "six_turns", user: "Crawl pages 1 to 5 and list their titles.",
			main: agent{system: "You crawl pages.", tools: []tool{crawlTool}, turns: []turn{
				{calls: []call{{name: "crawl", args: `{"page": 1}`, result: `{"page":1,"title":"Intro"}`}}},
				{calls: []call{{name: "crawl", args: `{"page": 2}`, result: `{"page":2,"title":"Setup"}`}}},
				{text: "Page 3 next.", calls: []call{{name: "crawl", args: `{"page": 3}`, result: `{"page":3,"title":"Usage"}`}}},
				{calls: []call{{name: "crawl", args: `{"page": 4}`, result: `{"page":4,"title":"Limits"}`}}},
				{calls: []call{{name: "crawl", args: `{"page": 5}`, result: `{"page":5,"title":"Usage"}`}}},
				{text: "Intro, Setup, Usage, Limits, Usage."}}}},
		{name: "handoff", user: "Why was I charged twice on invoice INV-1001?",
			main: agent{system: "[triage] You are the triage agent. Give billing questions to the billing agent.", turns: []turn{
				{text: "Let me ask billing.", calls: []call{{name: "billing_agent", args: `{"question": "Why was the customer charged twice on invoice INV-1001?"}`}}},
				{text: "Billing says that invoice INV-1001 holds the Pro plan twice; 49.00 will be refunded."}}},
			sub: &subagent{name: "billing_agent", description: "Answers questions about bills.", agent: agent{system: "[billing] You are the billing agent. Look invoices up before you answer.", tools: []tool{invoiceTool}, turns: []turn{
				{calls: []call{{name: "get_invoice", args: `{"invoice_id": "INV-1001"}`, result: `{"invoice_id":"INV-1001","lines":[{"item":"Pro plan","amount":49},{"item":"Pro plan","amount":49}]}`}}},
				{text: "INV-1001 contains the Pro plan twice; the duplicate of 49.00 will be refunded."}}}}},
		{name: "llm_failure", user: "What is the state of job 99?",
			main: agent{system: "You watch jobs.", tools: []tool{queueTool}, turns: []turn{
				{calls: []call{{name: "get_job", args: `{"job": "99"}`, result: `{"job":"99","state":"failed"}`}}},
				{fail: 400}}}},
		{name: "stream_final", stream: true, user: "How is the weather in Quito?",
			main: agent{system: "You are a weather assistant.", tools: []tool{weatherTool}, turns: []turn{
				{text: "One moment.", calls: []call{{name: "get_weather", args: `{"city": "Quito"}`, result: `{"city":"Quito","celsius":14,"sky":"rain"}`}}},
				{text: "Quito has rain at 14 degrees. Take an umbrella."}}}},
		{name: "stream_parallel", stream: true, user: "Jobs 5 and 6, please.",
			main: agent{system: "You watch jobs.", tools: []tool{queueTool}, turns: []turn{
				{calls: []call{{name: "get_job", args: `{"job": "5"}`, result: `{"job":"5","state":"done"}`, takes: ms(20)}, {name: "get_job", args: `{"job": "6"}`, result: `{"job":"6","state":"queued"}`}}},
				{text: "Job 5 is done, job 6 is queued."}}}},
		{name: "history_followup", user: "And in Porto?", history: []message{{"user", "How is the weather in Lisbon?"}, {"assistant", "Lisbon is clear at 21 degrees."}},
			main: agent{system: "You are a weather assistant.", tools: []tool{weatherTool}, turns: []turn{
				{calls: []call{{name: "get_weather", args: `{"city": "Porto"}`, result: `{"city":"Porto","celsius":17,"sky":"wind"}`}}},
				{text: "Porto is windy at 17 degrees."}}}},
		{name: "unknown_tool", user: "Cancel job 31.",
			main: agent{system: "You watch jobs.", tools: []tool{queueTool}, turns: []turn{
				{calls: []call{{name: "cancel_job", args: `{"job": "31"}`}}},
				{text: "I cannot cancel jobs."}}}},
		{name: "step_limit", maxSteps: 3, user: "Crawl the site forever.",
			main: agent{system: "You crawl pages.", tools: []tool{crawlTool}, turns: []turn{
				{calls: []call{{name: "crawl", args: `{"page": 1}`, result: `{"page":1,"next":2}`}}},
				{calls: []call{{name: "crawl", args: `{"page": 2}`, result: `{"page":2,"next":3}`}}},
				{calls: []call{{name: "crawl", args: `{"page": 3}`, result: `{"page":3,"next":4}`}}},
				{calls: []call{{name: "crawl", args: `{"page": 4}`, result: `{"page":4,"next":5}`}}}}}},
		{name: "secrets", user: "Rotate the deploy keys, please. Write to jane.fake@example.com; my card is 4111 1111 1111 1111.",
			main: agent{system: "You run deployments. Never repeat credentials.", tools: []tool{vaultTool, requestTool}, turns: []turn{
				{calls: []call{{name: "read_vault", args: `{"path": "prod/deploy", "token": "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"}`,
					result: `{"aws_access_key_id":"AKIAIOSFODNN7EXAMPLE","aws_secret_access_key":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY","owner":"jane.fake@example.com","session":{"ttl":900}}`}}},
				{calls: []call{{name: "http_request", args: `{"method": "POST", "url": "https://deploy:FAKE-password-1@deploy.example.com/rotate?api_key=FAKEfake0000FAKEfake0000", "headers": {"Authorization": "Bearer FAKE.token.0000", "X-Card": "4111 1111 1111 1111"}, "body": "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}`,
					result: quoted("HTTP/1.1 200 OK\r\nx-debug-key: FAKEfake0000FAKEfake0000\r\n\r\n{\"rotated\":true,\"password\":\"FAKE-password-1\"}")}}},
				{text: "The keys are rotated; a confirmation went to jane.fake@example.com."}}}},
		{name: "same_payload_twice", user: "Validate order 9007199254740993 twice with the same payload.",
			main: agent{system: "You validate orders.", tools: []tool{validateTool}, turns: []turn{
				{calls: []call{{name: "validate_order", args: `{"order":{"id":9007199254740993,"customer":null,"total":1234.50,"rate":0.1,"tiny":1e-7,"lines":[{"sku":"A-1","qty":2,"price":19.99,"meta":null},{"sku":"B-2","qty":0,"price":-3.5,"meta":{"tags":["x",null,true],"depth":{"d2":{"d3":{"d4":"leaf"}}}}}]},"options":{"z_last":1,"a_first":2,"dry_run":false}}`,
					result: quoted(`{"valid":true,"attempt":1,"order_id":9007199254740993,"checksum":18446744073709551615,"score":0.30000000000000004,"warnings":[],"next":null}`)}}},
				{calls: []call{{name: "validate_order", args: `{"options":{"dry_run":false,"a_first":2,"z_last":1},"order":{"lines":[{"price":19.99,"sku":"A-1","meta":null,"qty":2},{"meta":{"depth":{"d2":{"d3":{"d4":"leaf"}}},"tags":["x",null,true]},"qty":0,"sku":"B-2","price":-3.5}],"tiny":1e-7,"rate":0.1,"total":1234.50,"customer":null,"id":9007199254740993}}`,
					result: quoted(`{"valid":true,"attempt":2,"order_id":9007199254740993,"checksum":18446744073709551615,"score":0.30000000000000004,"warnings":[],"next":null}`)}}},
				{text: "Order 9007199254740993 is valid in both attempts."}}}},
		{name: "unicode_everywhere", user: "Translate \u201cna\u00efve caf\u00e9 \U0001f469\u200d\U0001f469\u200d\U0001f467\u201d into Hebrew and Japanese \u2014 merci!",
			main: agent{system: "\u0623\u0646\u062a \u0645\u0633\u0627\u0639\u062f \u062a\u0631\u062c\u0645\u0629. R\u00e9pondez poliment. \u8fd4\u4fe1\u306f\u7c21\u6f54\u306b\u3002", tools: []tool{translateTool}, turns: []turn{
				{calls: []call{{name: "translate", args: `{"text":"na\u00efve caf\u00e9 \ud83d\udc69\u200d\ud83d\udc69\u200d\ud83d\udc67","target":"he","note":"\u202bשלום עולם\u202c\nline 2\t\"quoted\" \\ slash\/"}`,
					result: "{\"text\":\"בית קפה נאיבי \U0001f469\u200d\U0001f469\u200d\U0001f467\",\"dir\":\"rtl\",\"ключ\":\"значение\"}"}}},
				{calls: []call{{name: "translate", args: `{"text":"naïve café","target":"ja","note":"𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ﷽ e\u0301 vs \u00e9 \u0000-less"}`, result: `{"text":"素朴なカフェ","dir":"ltr","キー":"𠮷野家"}`}}},
				{text: "עברית: בית קפה נאיבי \u2014 日本語: 素朴なカフェ"}}}},
		{name: "big_table", user: "Export the fleet table and tell me how it ends.",
			main: agent{system: "You analyse CSV exports.", tools: []tool{exportTool}, turns: []turn{
				{calls: []call{{name: "export_table", args: `{"table": "fleet", "format": "csv"}`, result: quoted(strings.Join(table, "\n"))}}},
				{text: "The table ends with host 999."}}}},
		{name: "unknown_then_known", user: "Delete the temp folder, then list what is left.",
			main: agent{system: "You are a file assistant.", tools: []tool{filesTool}, turns: []turn{
				{calls: []call{{name: "delete_folder", args: `{"dir": "temp"}`}}},
				{calls: []call{{name: "list_files", args: `{"dir": "."}`, result: `["a.txt","b.txt"]`}}},
				{text: "I cannot delete folders; a.txt and b.txt are there."}}}},
		{name: "start_and_poll", user: "Start the nightly-report job and wait for it.",
			main: agent{system: "You run batch jobs and poll until they are done.", tools: []tool{startTool, statusTool}, turns: []turn{
				{calls: []call{{name: "start_job", args: `{"job": "nightly-report"}`, result: `{"job_id":"job-7781"}`}}},
				{calls: []call{{name: "poll_job_status", args: `{"job_id": "job-7781"}`, result: `{"job_id":"job-7781","status":"queued"}`}}},
				{calls: []call{{name: "poll_job_status", args: `{"job_id": "job-7781"}`, result: `{"job_id":"job-7781","status":"running"}`}}},
				{calls: []call{{name: "poll_job_status", args: `{"job_id": "job-7781"}`, result: `{"job_id":"job-7781","status":"done"}`}}},
				{text: "The nightly-report job (job-7781) is done."}}}},
		{name: "stream_story", stream: true, user: "Look up a hero, then tell me a story of two sentences.",
			main: agent{system: "You tell very short stories.", tools: []tool{heroTool}, turns: []turn{
				{calls: []call{{name: "pick_hero", args: `{"genre": "fantasy", "seed": 0.5}`, result: `{"name":"Ada","genre":"fantasy","traits":["curious","stubborn"]}`}}},
				{text: "Ada, curious and stubborn, opened the door nobody else had noticed.\n\nBehind it, the sea was waiting \u2014 patient, bright and unexplained."}}}},
		{name: "fails_for_good", user: "What does invoice INV-3 say?",
			main: agent{system: "You read invoices.", tools: []tool{invoiceTool, lookupTool}, turns: []turn{
				{text: "I read the invoice.", calls: []call{{name: "get_invoice", args: `{"invoice_id": "INV-3"}`, err: `HTTP 503: {"error": "busy", "retry_after": 2}`}}},
				{text: "The ledger is busy; I look for the rules instead.", calls: []call{{name: "get_article", args: `{"article_id": "billing"}`, result: quoted("Invoices can be read on working days.")}}},
				{text: "The ledger is busy. Invoices can be read on working days."}}}},
	}
}
