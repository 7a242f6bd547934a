/**
 * Goal: over HTTP `why` gives the same answer that the command line gets from the store.
 * Method: the server over the fakes, whose one run is worked on, compared with the store's own
 * answer.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { explain } from '../../src/audit/why.ts'
import { why } from '../../src/contract.ts'
import { whyView } from '../../src/contract/why.ts'
import { theDeliveryId } from './fake-outbox.ts'
import { theRunId, theWebhookId } from './fakes.ts'
import { ask, bearer, problemOf, serverUnderTest, theRunToken } from './server-under-test.ts'

const { server, deps } = serverUnderTest()
afterAll(() => server.close())

const asked = (q: string) =>
  ask(server, { method: 'GET', url: `/v1/why?${new URLSearchParams({ q }).toString()}` })

describe('a question', () => {
  test.each([
    theRunId,
    theWebhookId,
    theDeliveryId,
    'acme/widgets#5',
    'https://github.com/acme/widgets/pull/5',
  ])('about %s is answered as the store answers it', async (q) => {
    const answer = await asked(q)
    expect(answer.statusCode).toBe(200)
    expect(why.parse(answer.json())).toEqual(whyView(await explain(deps.store, q)))
  })

  test('has times in RFC 3339 and names in snake_case', async () => {
    const { story, awaiting } = why.parse((await asked(theRunId)).json())
    expect(story[0]).toMatchObject({ at: '2026-01-31T12:00:00.000Z', run_id: theRunId })
    expect(awaiting[0]?.until).toBe('2026-01-31T12:01:00.000Z')
  })

  test('in no valid form is 400, with the valid forms', async () => {
    const { status, errors } = problemOf(await asked('what is going on?'))
    expect(status).toBe(400)
    expect(errors?.[0]).toMatchObject({ field: 'q' })
    expect(errors?.[0]?.message).toMatch(/^must be owner\/repo#5, .*run_….*inb_….*GUID/)
  })

  test.each([
    ['run_0', 'run_not_found'],
    ['inb_0', 'inbox_entry_not_found'],
    ['99999999-cc78-11e3-81ab-4c9367dc0958', 'inbox_entry_not_found'],
    ['del_0', 'delivery_not_found'],
  ])('about %s, which does not exist, is 404 with a hint', async (q, code) => {
    deps.store.audit.list = async () => ({ items: [], nextCursor: null })
    const { status, hint, ...problem } = problemOf(await asked(q))
    expect([status, problem.code]).toEqual([404, code])
    expect(hint).toBeTruthy()
  })
})

test('a run token asks about its own run, and about nothing else', async () => {
  const headers = bearer(theRunToken)
  const own = await ask(server, { method: 'GET', url: `/v1/runs/${theRunId}/why`, headers })
  expect(own.statusCode).toBe(200)
  expect(why.parse(own.json()).headline).toMatch(/ is being worked on by worker w1 since /)
  const others = await ask(server, { method: 'GET', url: `/v1/why?q=${theRunId}`, headers })
  expect(others.statusCode).toBe(403)
})
