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
	}
}
