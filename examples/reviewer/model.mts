/**
 * Stands in for a model, so that the example costs nothing and answers the same every time. Like
 * the API of a real one, it answers a question with the same idempotency key only once and then
 * repeats its answer. It prints what it does.
 */
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'

interface Change {
  readonly files: readonly { readonly path: string; readonly patch: string }[]
}

interface Finding {
  readonly path: string
  readonly line: number
  readonly body: string
  readonly blocking: boolean
}

const answers = new Map<string, object>()

const server = createServer(async (request, response) => {
  const key = String(request.headers['idempotency-key'])
  const what = request.url?.slice(1) ?? ''
  const question: unknown = await json(request)
  const known = answers.get(key)
  console.log(`${what}: ${known === undefined ? 'answered' : 'repeated'}`)
  const answer = known ?? answerTo(what, question)
  answers.set(key, answer)
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
})
server.listen(Number(process.env['PORT'] ?? 8790), '127.0.0.1', () =>
  console.log(`model listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)

function answerTo(what: string, question: unknown): object {
  if (what === 'findings') return { findings: findingsIn(question as Change) }
  const { findings } = question as { readonly findings: readonly Finding[] }
  return { text: summaryOf(findings) }
}

const rules = [
  { pattern: /\bdebugger\b/, body: 'This stops the program in a debugger.', blocking: true },
  { pattern: /\bvar\b/, body: 'Prefer let or const.', blocking: false },
]

function findingsIn({ files }: Change): readonly Finding[] {
  return files.flatMap(({ path, patch }) =>
    addedLines(patch).flatMap(({ line, text }) =>
      rules
        .filter(({ pattern }) => pattern.test(text))
        .map(({ body, blocking }) => ({ path, line, body, blocking })),
    ),
  )
}

/** The added lines of a unified diff, with their numbers in the new text. */
function addedLines(patch: string): readonly { readonly line: number; readonly text: string }[] {
  const added = []
  let line = 0
  for (const text of patch.split('\n')) {
    const start = /^@@ -\S+ \+(\d+)/.exec(text)?.[1]
    if (start !== undefined) line = Number(start)
    else if (text.startsWith('+')) added.push({ line: line++, text: text.slice(1) })
    else if (text.startsWith(' ')) line += 1
  }
  return added
}

function summaryOf(findings: readonly Finding[]): string {
  const blocking = findings.filter((finding) => finding.blocking).length
  if (findings.length === 0) return 'Nothing to object to.'
  return `Remarks: ${findings.length}, of which must be fixed: ${blocking}.`
}

process.once('SIGTERM', () => server.close())
