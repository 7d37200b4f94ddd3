"""What the official Python package does with this API, with nothing changed but the address.

Run by `npm run check:python`, which starts the API and an upstream that answers as it is told. Exits with 1, and names
what went wrong, when anything does.
"""

import asyncio
import base64
import json
import os
import struct
import time
import unittest
import urllib.request

import openai
from pydantic import BaseModel

BASE_URL = os.environ["BASE_URL"]
MODEL = "gpt-stub"
USER = {"role": "user", "content": "What is the weather in Paris and in Rome?"}
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CALLS = [
    {"id": "call_paris", "name": "weather", "arguments": '{"city":"Paris"}'},
    {"id": "call_rome", "name": "weather", "arguments": '{"city":"Rome"}'},
]


class Weather(BaseModel):
    city: str


class Report(BaseModel):
    city: str
    degrees: int


def upstream(*answers):
    """Tells the upstream what it answers next."""
    body = json.dumps(answers).encode()
    request = urllib.request.Request(os.environ["CONTROL_URL"], data=body, method="PUT")
    urllib.request.urlopen(request).close()


def received():
    """What the upstream was asked since then."""
    with urllib.request.urlopen(os.environ["CONTROL_URL"]) as answer:
        return [call["body"] for call in json.load(answer)]


def failure(status, message="internal words", code=None, headers=None):
    error = {"message": message, "type": "some_error", "param": None, "code": code}
    return {"status": status, "headers": headers or {}, "body": {"error": error}}


class Check(unittest.TestCase):
    def setUp(self):
        self.client = self.client_with()
        upstream()
        # What one check did to the health of the upstream is no matter of the next.
        for _ in range(100):
            try:
                self.ask()
                break
            except openai.APIStatusError:
                time.sleep(0.1)
        upstream()

    def client_with(self, key="KEY", **options):
        options = {"max_retries": 0, "timeout": 60, **options}
        client = openai.OpenAI(base_url=BASE_URL, api_key=os.environ.get(key, key), **options)
        self.addCleanup(client.close)
        return client

    def ask(self, client=None, **more):
        order = {"model": MODEL, "messages": [USER], **more}
        return (client or self.client).chat.completions.create(**order)


class Models(Check):
    def test_are_listed(self):
        ids = [model.id for model in self.client.models.list()]
        self.assertIn(MODEL, ids)
        self.assertIn("simulator-text", ids)


class Chat(Check):
    def test_answers_with_its_usage_and_its_cost(self):
        upstream({"tokens": ["one", " two"], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}})
        completion = self.ask()
        self.assertEqual(completion.object, "chat.completion")
        self.assertEqual(completion.choices[0].message.content, "one two")
        self.assertEqual(completion.choices[0].finish_reason, "stop")
        self.assertEqual(completion.usage.total_tokens, 12)
        # 10 tokens at 1 USD and 2 at 2 USD a million.
        self.assertEqual(completion.model_extra["cost"]["usd"], 0.000014)

    def test_is_streamed_with_its_usage_last(self):
        upstream({"tokens": ["one", " two", " three"]})
        text, last = "", None
        for chunk in self.ask(stream=True, stream_options={"include_usage": True}):
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            last = chunk
        self.assertEqual(text, "one two three")
        self.assertEqual(last.usage.completion_tokens, 3)
        self.assertEqual(last.choices, [])

    def test_is_answered_and_streamed_by_the_asynchronous_client(self):
        async def both():
            async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=os.environ["KEY"], max_retries=0) as client:
                whole = await client.chat.completions.create(model=MODEL, messages=[USER])
                stream = await client.chat.completions.create(model=MODEL, messages=[USER], stream=True)
                pieces = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
                return whole.choices[0].message.content, "".join(pieces)

        whole, streamed = asyncio.run(both())
        self.assertEqual(whole, streamed)

    def test_takes_the_service_parameters_as_an_extra_body(self):
        completion = self.ask(extra_body={"service_parameters": {"strip_thinking_response": True}})
        self.assertTrue(completion.model_extra["service_parameters"]["strip_thinking_response"])

    def test_that_breaks_off_is_an_error_after_the_words_that_came(self):
        upstream({"tokens": ["one", " two", " three"], "cutAfterFrames": 3, "pauseMs": 5})
        text = ""
        with self.assertRaises(openai.APIError) as caught:
            for chunk in self.ask(stream=True):
                text += chunk.choices[0].delta.content or ""
        self.assertEqual(text, "one two")
        self.assertEqual(caught.exception.code, "upstream_error")


class Tools(Check):
    def test_one_call(self):
        upstream({"toolCalls": CALLS[:1]})
        choice = self.ask(tools=[WEATHER], tool_choice="required").choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls")
        self.assertEqual(choice.message.tool_calls[0].function.arguments, CALLS[0]["arguments"])
        self.assertEqual(received()[0]["tools"], [WEATHER])

    def test_parallel_calls_and_their_results_go_round(self):
        upstream({"toolCalls": CALLS}, {"tokens": ["Sun", " in", " both."]})
        first = self.ask(tools=[WEATHER], parallel_tool_calls=True).choices[0].message
        self.assertEqual([call.id for call in first.tool_calls], ["call_paris", "call_rome"])
        results = [{"role": "tool", "tool_call_id": call.id, "content": "clear"} for call in first.tool_calls]
        second = self.ask(messages=[USER, first, *results], tools=[WEATHER])
        self.assertEqual(second.choices[0].message.content, "Sun in both.")
        sent = received()[1]["messages"]
        self.assertEqual([message["role"] for message in sent], ["user", "assistant", "tool", "tool"])
        self.assertEqual([call["id"] for call in sent[1]["tool_calls"]], ["call_paris", "call_rome"])

    def test_a_streamed_call_is_put_together(self):
        upstream({"toolCalls": CALLS})
        with self.client.chat.completions.stream(model=MODEL, messages=[USER], tools=[WEATHER]) as stream:
            done = [event.arguments for event in stream if event.type == "tool_calls.function.arguments.done"]
            final = stream.get_final_completion()
        self.assertEqual(done, [call["arguments"] for call in CALLS])
        self.assertEqual([call.id for call in final.choices[0].message.tool_calls], ["call_paris", "call_rome"])

    def test_a_strict_tool_is_parsed(self):
        upstream({"toolCalls": CALLS[:1]})
        tools = [openai.pydantic_function_tool(Weather, name="weather")]
        completion = self.client.chat.completions.parse(model=MODEL, messages=[USER], tools=tools)
        call = completion.choices[0].message.tool_calls[0]
        self.assertEqual(call.function.parsed_arguments, Weather(city="Paris"))


class Schema(Check):
    TOLD = ['{"city":', '"Paris",', '"degrees":', "21}"]

    def test_is_passed_on_and_its_answer_parsed(self):
        upstream({"tokens": self.TOLD})
        completion = self.client.chat.completions.parse(model=MODEL, messages=[USER], response_format=Report)
        self.assertEqual(completion.choices[0].message.parsed, Report(city="Paris", degrees=21))
        sent = received()[0]["response_format"]
        self.assertEqual([sent["type"], sent["json_schema"]["strict"]], ["json_schema", True])

    def test_is_parsed_at_the_end_of_a_stream(self):
        upstream({"tokens": self.TOLD})
        with self.client.chat.completions.stream(model=MODEL, messages=[USER], response_format=Report) as stream:
            final = stream.get_final_completion()
        self.assertEqual(final.choices[0].message.parsed, Report(city="Paris", degrees=21))

    def test_that_was_cut_is_told_as_one(self):
        upstream({"tokens": self.TOLD[:2], "finishReason": "length"})
        with self.assertRaises(openai.LengthFinishReasonError):
            self.client.chat.completions.parse(model=MODEL, messages=[USER], response_format=Report)


class Embeddings(Check):
    ORDER = {"model": "local-lexical-embedding", "input": ["one two", "three"]}

    def test_are_the_same_in_both_encodings(self):
        # By itself the package asks for base64, and takes the floats out of it.
        by_itself = self.client.embeddings.create(**self.ORDER)
        floats = self.client.embeddings.create(**self.ORDER, encoding_format="float")
        encoded = self.client.embeddings.create(**self.ORDER, encoding_format="base64")
        for at in range(2):
            raw = base64.b64decode(encoded.data[at].embedding)
            told = list(struct.unpack(f"<{len(raw) // 4}f", raw))
            self.assertEqual(len(told), 512)
            self.assertEqual(told, list(by_itself.data[at].embedding))
            self.assertEqual(told, floats.data[at].embedding)
        self.assertGreater(by_itself.usage.prompt_tokens, 0)


class Errors(Check):
    CASES = [
        (400, openai.BadRequestError, {"body": {"temperature": 3}}),
        (400, openai.BadRequestError, {"body": {"extra_body": {"temprature": 1}}}),
        (400, openai.BadRequestError, {"body": {"model": "gpt-plain", "logprobs": True}}),
        (401, openai.AuthenticationError, {"key": "sk-" + "x" * 40}),
        (402, openai.APIStatusError, {"key": "POOR_KEY"}),
        (403, openai.PermissionDeniedError, {"key": "SCOPED_KEY"}),
        (404, openai.NotFoundError, {"body": {"model": "nobody"}}),
        (422, openai.UnprocessableEntityError, {"script": failure(400, "no", "content_policy_violation")}),
        (429, openai.RateLimitError, {"script": failure(429)}),
        (500, openai.InternalServerError, {"script": failure(500)}),
        (503, openai.InternalServerError, {"script": failure(401)}),
        (504, openai.InternalServerError, {"script": {"hang": "head"}}),
    ]

    def test_have_their_classes_their_words_and_the_id_of_the_request(self):
        for status, kind, case in self.CASES:
            for stream in (False, True):
                with self.subTest(status=status, stream=stream, **case):
                    self.setUp()
                    upstream(*([case["script"]] if "script" in case else []))
                    with self.assertRaises(kind) as caught:
                        self.ask(self.client_with(case.get("key", "KEY")), stream=stream, **case.get("body", {}))
                    error = caught.exception
                    self.assertEqual(error.status_code, status)
                    # Our errors are words, which the package keeps in `body`.
                    self.assertIsInstance(error.body, str)
                    self.assertEqual(error.body, error.response.json()["error"])
                    self.assertNotIn("internal words", error.body)
                    self.assertEqual(error.request_id, error.response.headers["x-request-id"])

    def test_of_a_server_that_is_not_there_is_one_of_the_connection(self):
        client = openai.OpenAI(base_url="http://127.0.0.1:1/api/v1", api_key="x", max_retries=0)
        self.addCleanup(client.close)
        with self.assertRaises(openai.APIConnectionError):
            self.ask(client)

    def test_of_a_client_that_does_not_wait_is_its_own(self):
        upstream({"hang": "head"})
        with self.assertRaises(openai.APITimeoutError):
            self.ask(self.client_with(timeout=0.2))


class Retries(Check):
    def again(self, first, pause):
        """One refusal, then the answer: how long the package waited in between, in seconds."""
        upstream(first)
        started = time.monotonic()
        answer = self.client_with(max_retries=2).chat.completions.with_raw_response.create(model=MODEL, messages=[USER])
        self.assertEqual(answer.retries_taken, 1)
        self.assertEqual(answer.parse().object, "chat.completion")
        self.assertEqual(len(received()), 2)
        self.assertGreaterEqual(time.monotonic() - started, pause)

    def test_429_is_tried_again_when_it_says(self):
        self.again(failure(429, headers={"retry-after": "1"}), 1)

    def test_a_busy_upstream_is_tried_again_when_it_says(self):
        self.again(failure(503, headers={"retry-after": "2"}), 2)

    def test_500_is_tried_again(self):
        self.again(failure(500), 0)

    def test_503_is_tried_again_after_the_30_seconds_that_it_says(self):
        self.again(failure(401), 30)

    def test_a_stream_that_has_not_begun_is_tried_again(self):
        upstream(failure(500), {"tokens": ["one", " two"]})
        stream = self.ask(self.client_with(max_retries=2), stream=True)
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices), "one two")
        self.assertEqual(len(received()), 2)

    def test_what_is_wrong_is_not_tried_again(self):
        for case in ({"temperature": 3}, {"model": "nobody"}):
            with self.subTest(**case), self.assertRaises(openai.APIStatusError) as caught:
                self.ask(self.client_with(max_retries=2), **case)
            self.assertEqual(caught.exception.request.headers["x-stainless-retry-count"], "0")

    def test_an_end_is_put_to_it(self):
        upstream(*[failure(500)] * 3)
        with self.assertRaises(openai.InternalServerError) as caught:
            self.ask(self.client_with(max_retries=2))
        self.assertEqual(caught.exception.request.headers["x-stainless-retry-count"], "2")


if __name__ == "__main__":
    print(f"openai {openai.__version__} against {BASE_URL}", flush=True)
    unittest.main(verbosity=2)
