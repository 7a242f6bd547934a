/**
 * Goal: the page shows every operation to who has a token, and says why not to who has none.
 * Method: its script runs against a document of a few lines; what it fetches is the real server's.
 */
import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { afterAll, expect, test } from 'vitest'
import { ask, serverUnderTest } from './server-under-test.ts'

class Element {
  className = ''
  textContent = ''
  value = ''
  hidden = false
  readonly children: (Element | string)[] = []
  readonly tag: string
  submit: (event: { preventDefault: () => void }) => Promise<void> = () => Promise.resolve()

  constructor(tag: string) {
    this.tag = tag
  }

  append(...children: (Element | string)[]): void {
    this.children.push(...children)
  }

  addEventListener(_type: 'submit', listener: Element['submit']): void {
    this.submit = listener
  }

  get text(): string {
    const inner = this.children.map((child) => (child instanceof Element ? child.text : child))
    return this.textContent + inner.join(' ')
  }

  count(tag: string): number {
    const inner = this.children.filter((child) => child instanceof Element)
    return inner.reduce((sum, child) => sum + child.count(tag), this.tag === tag ? 1 : 0)
  }
}

const { server } = serverUnderTest()
afterAll(() => server.close())
const script = readFileSync(new URL('../../src/http/docs/page.js', import.meta.url), 'utf8')

async function visit(token: string) {
  const elements = new Map<string, Element>()
  const at = (id: string): Element => {
    const element = elements.get(id) ?? new Element(id)
    elements.set(id, element)
    return element
  }
  const page = {
    document: { getElementById: at, createElement: (tag: string) => new Element(tag) },
    location: { origin: 'http://here.test', hash: '' },
    fetch: async (url: string, { headers }: { headers: Record<string, string> }) => {
      const answer = await ask(server, { url, headers })
      const ok = answer.statusCode === 200
      return { ok, statusText: '', json: () => Promise.resolve(answer.json<unknown>()) }
    },
  }
  runInNewContext(script, page)
  at('token').value = token
  await at('ask').submit({ preventDefault: () => undefined })
  return at
}

test('every operation is shown, with its fields and an example', async () => {
  const at = await visit('an-admin-token-of-good-length')
  const operations = server.endpoints.filter(({ method }) => method !== 'HEAD').length
  expect(at('refusal').text).toBe('')
  expect([at('operations').count('article'), at('contents').count('a')]).toEqual([
    operations,
    operations,
  ])
  const text = at('operations').text
  for (const shown of ['/v1/runs/{id}/complete', 'base_sha', 'acme/widgets', 'Idempotency-Key']) {
    expect(text).toContain(shown)
  }
  expect(text).toContain('curl -X POST http://here.test/v1/runs ')
  expect(text).not.toMatch(/undefined|\[object/)
  expect([at('door').hidden, at('reference').hidden, at('token').value]).toEqual([true, false, ''])
})

test('a wrong token is told so and shows nothing', async () => {
  const at = await visit('wrong')
  expect(at('refusal').text).toBe('The bearer token is not known here.')
  expect(at('operations').count('article')).toBe(0)
})
