/**
 * Goal: an operator can confirm only an output that may belong to this delivery: created by our
 * account for this delivery, on its thread or commit.
 * Method: the real store, channels and publisher as an App against the simulated GitHub.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MarkerKey } from '../../src/channels/marker.ts'
import { withMarker } from '../../src/channels/marker.ts'
import type { Delivery } from '../../src/domain/outbox/delivery.ts'
import type { World } from './world.ts'
import { baseSha, context, head, hour, minute, openWorld, repo, second } from './world.ts'

let here: World
beforeEach(async () => {
  here = await openWorld({ app: true, announcement: { checkName: context } })
  here.startPublisher()
})
afterEach(() => here.close())

/** A run whose anchor could not be written and waits for an operator. */
async function claimLocked() {
  here.github.lock(repo, 5)
  const claimed = await here.claim()
  await here.time.pass(5 * second)
  here.github.unlock(repo, 5)
  const anchor = await here.delivery('anchor')
  expect(anchor).toMatchObject({ status: 'FAILED' })
  return { claimed, anchor: anchor! }
}

/** Confirms as HTTP and the command line do. */
async function confirm({ id }: Delivery, providerId: string | number): Promise<Delivery> {
  await here.act(here.checkIsOurs(id, String(providerId)))
  return await here.act(here.store.outbox.confirm(id, String(providerId), 'operator', null))
}

const bot = 'holdfast-bot[bot]'

function markedBody({ markerKey }: Delivery, all: readonly MarkerKey[]): string {
  const repoGithubId = here.github.repository(repo).id
  const marked = { repoGithubId, ownRepositoryIds: [], thread: 5, markerKey }
  return withMarker('As published.', marked, { current: all[0]!, all })
}

/** The text as Holdfast would have written it. */
const ourBody = async (delivery: Delivery): Promise<string> =>
  markedBody(delivery, await here.act(here.store.outbox.markerKeys()))

describe('a comment', () => {
  it('of a person is refused, and not overwritten', async () => {
    const text = 'My careful analysis.'
    const bobs = here.github.commentAs('bob', repo, 5, text)
    const { claimed, anchor } = await claimLocked()
    await expect(confirm(anchor, bobs.id)).rejects.toMatchObject({
      code: 'not_ours',
      message: expect.stringContaining('somebody else made it') as string,
    })
    await here.complete(claimed)
    await here.time.pass(minute)
    expect(here.github.comments(repo, 5).find(({ id }) => id === bobs.id)?.body).toBe(text)
  })

  it('that our account wrote without a marker is refused, and not overwritten', async () => {
    const text = 'What whoever has this account wrote by hand.'
    const manualComment = here.github.commentAs(bot, repo, 5, text)
    const { claimed, anchor } = await claimLocked()
    await expect(confirm(anchor, manualComment.id)).rejects.toMatchObject({
      code: 'not_ours',
      message: expect.stringContaining('without the signed marker') as string,
    })
    await here.complete(claimed)
    await here.time.pass(minute)
    expect(here.github.comments(repo, 5).find(({ id }) => id === manualComment.id)?.body).toBe(text)
  })

  it('with this delivery’s marker that no key of ours signed is refused', async () => {
    const { anchor } = await claimLocked()
    const forged = markedBody(anchor, [{ id: 'key', secret: 'not ours' }])
    const comment = here.github.commentAs(bot, repo, 5, forged)
    await expect(confirm(anchor, comment.id)).rejects.toMatchObject({ code: 'not_ours' })
  })

  it('of ours on that thread is accepted, and the next version edits it', async () => {
    const { claimed, anchor } = await claimLocked()
    const ours = here.github.commentAs(bot, repo, 5, await ourBody(anchor))
    expect(await confirm(anchor, ours.id)).toMatchObject({ status: 'SENT' })
    await here.complete(claimed, 'The result.')
    await here.time.pass(hour)
    expect(here.github.comments(repo, 5)).toHaveLength(1)
    expect(here.github.comments(repo, 5)[0]?.body).toContain('The result.')
  })

  it('of ours on another thread, or of another repository, is refused', async () => {
    here.github.addPull(repo, { number: 6, headSha: head(6), baseSha })
    here.github.addRepository('acme/other')
    here.github.addPull('acme/other', { number: 5, headSha: head(6), baseSha })
    const { anchor } = await claimLocked()
    const body = await ourBody(anchor)
    const elsewhere = here.github.commentAs(bot, repo, 6, body)
    const abroad = here.github.commentAs(bot, 'acme/other', 5, body)
    await expect(confirm(anchor, elsewhere.id)).rejects.toMatchObject({ code: 'not_ours' })
    await expect(confirm(anchor, abroad.id)).rejects.toMatchObject({ code: 'not_ours' })
    await expect(confirm(anchor, 1)).rejects.toMatchObject({ code: 'not_ours' })
  })

  it('that another delivery has published is refused', async () => {
    const { claimed, anchor } = await claimLocked()
    await here.publish(claimed, 'note', 'github-comment', { form: 'text', body: 'A note.' })
    await here.time.pass(minute)
    const note = await here.delivery('note')
    await expect(confirm(anchor, note?.providerId ?? '')).rejects.toMatchObject({
      code: 'not_ours',
      message: expect.stringContaining('another delivery') as string,
    })
  })

  it('without an id is looked for by the next version, not created again', async () => {
    const { claimed, anchor } = await claimLocked()
    await here.act(here.store.outbox.confirm(anchor.id, null, 'operator', null))
    const { protocol } = (await here.delivery('anchor'))!
    expect(protocol.doubt).toMatchObject({ action: 'create' })
    await here.complete(claimed, 'The result.')
    await here.time.pass(minute)
    const [looked] = here.github.requests.filter(({ path }) => path.endsWith('/issues/5/comments'))
    expect(looked).toBeDefined()
    expect(here.github.comments(repo, 5)).toHaveLength(1)
  })

  it('cannot be confirmed while GitHub cannot be asked', async () => {
    const { anchor } = await claimLocked()
    const ours = here.github.commentAs(bot, repo, 5, await ourBody(anchor))
    const { faults } = here.github
    const route = 'GET /repos/{owner}/{repo}/issues/comments/{comment_id}'
    faults.add({ on: { route, times: 1 }, fault: faults.serverError(502) })
    await expect(confirm(anchor, ours.id)).rejects.toMatchObject({ code: 'not_checked' })
    expect(await confirm(anchor, ours.id)).toMatchObject({ status: 'SENT' })
  })

  it('that was already sent needs no second check', async () => {
    const { anchor } = await claimLocked()
    const ours = here.github.commentAs(bot, repo, 5, await ourBody(anchor))
    await confirm(anchor, ours.id)
    here.github.deleteCommentAs('octocat', ours.id)
    expect(await confirm(anchor, ours.id)).toMatchObject({ providerId: String(ours.id) })
  })
})

describe('a status', () => {
  it('of ours under another context is refused', async () => {
    const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
    const claimed = await here.claim()
    await here.time.pass(5 * second)
    const content = { context: 'own/lint', state: 'success', description: '', targetUrl: null }
    here.github.faults.add({ on: { route, times: 1 }, fault: here.github.faults.refuse(410, {}) })
    await here.publish(claimed, 'lint', 'github-status', content)
    await here.time.pass(5 * second)
    const lint = await here.delivery('lint')
    const status = await here.delivery('status')
    await expect(confirm(lint!, status?.providerId ?? '')).rejects.toMatchObject({
      code: 'not_ours',
      message: expect.stringContaining('another delivery') as string,
    })
  })
})
