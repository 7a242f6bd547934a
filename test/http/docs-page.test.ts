/**
 * Goal: with a token the page shows every operation; without one it says why not.
 * Method: the page's script runs on a minimal fake document, and fetches from the real server.
 */
import { runInNewContext } from 'node:vm'
import { afterAll, expect, test } from 'vitest'
import { docsPage } from '../../src/http/docs/docs-page.ts'
import { ask, serverUnderTest } from './server-under-test.ts'

type Listener = (event: { preventDefault: () => void }) => Promise<void> | undefined

class Element {
  className = ''
  textContent = ''
  value = ''
  hidden = false
  open = false
  readonly children: (Element | string)[] = []
  readonly tag: string
  readonly listeners = new Map<string, Listener>()

  constructor(tag: string) {
    this.tag = tag
  }

  append(...children: (Element | string)[]): void {
    this.children.push(...children)
  }

  addEventListener(type: string, listener: Listener): void {
    this.listeners.set(type, listener)
  }

  async send(type: string): Promise<void> {
    await this.listeners.get(type)?.({ preventDefault: () => undefined })
  }

  focus(): void {
    this.className = 'focused'
  }

  get text(): string {
    const inner = this.children.map((child) => (child instanceof Element ? child.text : child))
    return this.textContent + inner.join(' ')
  }

  /** This element and those below it that `wanted` accepts. */
  find(wanted: (element: Element) => boolean): Element[] {
    const inner = this.children.filter((child) => child instanceof Element)
    return [...(wanted(this) ? [this] : []), ...inner.flatMap((child) => child.find(wanted))]
  }

  count(tag: string): number {
    return this.find((element) => element.tag === tag).length
  }

  get shown(): string {
    if (this.hidden) return ''
    const inner = this.children.map((child) => (child instanceof Element ? child.shown : child))
    return this.textContent + inner.join(' ')
  }
}

const { server } = serverUnderTest()
afterAll(() => server.close())
const token = 'an-admin-token-of-good-length'

function openPage(session = new Map<string, string>()) {
  const elements = new Map<string, Element>()
  const at = (id: string): Element => {
    const element = elements.get(id) ?? new Element(id)
    elements.set(id, element)
    return element
  }
  const copied: string[] = []
  const asked = Promise.withResolvers<undefined>()
  const page = {
    document: { getElementById: at, createElement: (tag: string) => new Element(tag) },
    location: { origin: 'http://here.test', hash: '', reload: () => undefined },
    matchMedia: () => ({ matches: true, addEventListener: () => undefined }),
    IntersectionObserver: class {
      observe = () => undefined
    },
    navigator: { clipboard: { writeText: (text: string) => Promise.resolve(copied.push(text)) } },
    sessionStorage: {
      getItem: (key: string) => session.get(key) ?? null,
      setItem: (key: string, value: string) => void session.set(key, value),
      removeItem: (key: string) => void session.delete(key),
    },
    fetch: async (url: string, { headers }: { headers: Record<string, string> }) => {
      const answer = await ask(server, { url, headers })
      asked.resolve(undefined)
      const { statusCode: status } = answer
      const json = () => Promise.resolve(answer.json<unknown>())
      return { ok: status === 200, status, statusText: '', json }
    },
  }
  runInNewContext(docsPage.script, page)
  const enter = async (text: string) => {
    at('token').value = text
    await at('ask').send('submit')
  }
  return { at, enter, copied, session, asked: asked.promise }
}

async function entered() {
  const page = openPage()
  await page.enter(token)
  return page
}

const articleOf = (at: (id: string) => Element, id: string): Element => {
  const [found] = at('operations').find((one) => 'id' in one && one.id === id)
  if (found === undefined) throw new Error(`there is no ${id}`)
  return found
}

test('every operation is shown, with its fields and an example', async () => {
  const { at } = await entered()
  const operations = server.endpoints.filter(({ method }) => method !== 'HEAD').length
  expect(at('refusal').text).toBe('')
  expect([at('operations').count('article'), at('contents').count('a')]).toEqual([
    operations,
    operations,
  ])
  const text = at('operations').text
  for (const shown of ['complete', 'base_sha', 'acme/widgets', 'Idempotency-Key', 'lease_lost']) {
    expect(text).toContain(shown)
  }
  expect(text).toContain('curl -X POST http://here.test/v1/runs ')
  expect(text).toContain('http://here.test/v1/runs/RUN_ID/complete')
  expect(text).not.toMatch(/undefined|\[object|string,null/)
  expect([at('token-page').hidden, at('reference').hidden, at('token').value]).toEqual([
    true,
    false,
    '',
  ])
})

test('a field that may be null unfolds like any other', async () => {
  const { at } = await entered()
  const claim = articleOf(at, 'claimRun')
  const opened = claim.find(({ tag }) => tag === 'summary').map(({ text }) => text)
  expect(opened).toContain('Fields of Run')
  expect(opened).toContain('Fields of Lease')
  expect(claim.text).toContain('string  |  null')
})

test('a claim is shown in one form at a time, with the example that goes with it', async () => {
  const { at } = await entered()
  const claim = articleOf(at, 'claimRun')
  const buttons = claim.find(({ tag }) => tag === 'button')
  const job = buttons.find(({ text }) => text === 'Job')
  expect(claim.shown).toContain('"base_sha"')
  expect(claim.shown).not.toContain('"key"')
  await job?.send('click')
  expect(claim.shown).toContain('"key"')
  expect(claim.shown).not.toContain('"base_sha"')
})

test('only a request has required fields, and a body without fields has no heading', async () => {
  const { at } = await entered()
  const headings = (id: string) =>
    articleOf(at, id)
      .find(({ tag }) => tag === 'h4')
      .map(({ text }) => text)
  expect(headings('cancelRun')).toEqual(['Parameters', 'Headers', 'Answers'])
  expect(headings('heartbeatRun')).toContain('Body (may be left out)')
  const required = (id: string) =>
    articleOf(at, id).find(({ className }) => className === 'required').length
  // The id, the outcome, and the code and text of an error; no field of the run in the answer.
  expect(required('completeRun')).toBe(4)
  expect(required('listRuns')).toBe(0)
})

test('an example is copied unchanged', async () => {
  const { at, copied } = await entered()
  const [button] = articleOf(at, 'getHealth').find(({ tag }) => tag === 'button')
  await button?.send('click')
  expect(copied).toEqual(['curl http://here.test/healthz'])
  expect(button?.textContent).toBe('Copied')
})

test('a wrong token shows nothing but an error that says where tokens come from', async () => {
  const { at, enter, session } = openPage()
  expect(at('token-page').hidden).toBe(false)
  expect(at('token').className).toBe('focused')
  await enter('wrong')
  expect(at('refusal').text).toMatch(/^The bearer token is unknown\. .*comes from/)
  expect(docsPage.html).toContain('holdfast token create')
  expect(at('operations').count('article')).toBe(0)
  expect(session.size).toBe(0)
})

test('a reload does not ask again until the token is forgotten or invalid', async () => {
  const { session, at } = await entered()
  expect([...session.values()]).toEqual([token])
  const again = openPage(session)
  await again.asked
  await expect.poll(() => again.at('operations').count('article')).toBeGreaterThan(0)

  await at('forget').send('click')
  expect(session.size).toBe(0)
  const stale = openPage(new Map([['holdfast-token', 'revoked']]))
  await expect.poll(() => stale.session.size).toBe(0)
  await expect.poll(() => stale.at('refusal').text).toContain('is unknown')
})
