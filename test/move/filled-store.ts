/** Fills a store through its own verbs: something of nearly everything that a store can hold. */
import { brotliCompressSync } from 'node:zlib'
import type { Store } from '../../src/store.ts'
import type { ClaimAnswer } from '../../src/store/run-store.ts'
import { grant, jobClaim, policy, pullRequestClaim, completion } from '../conformance/claims.ts'
import { claiming, decided, newWebhook } from '../conformance/inbox/webhooks.ts'
import { announced, ManualPublisher, noAnswer } from '../conformance/outbox/manual-publisher.ts'

export interface Filled {
  /** Its holder works on it. */
  readonly held: ClaimAnswer
  /** A run that succeeded. */
  readonly done: ClaimAnswer
  /** The delivery that was being sent when the server stopped. */
  readonly beingSent: string
  readonly token: { readonly id: string; readonly secret: string }
}

const loud = { ...policy, announcement: announced }
export const pull = (pr: number, head: string) =>
  pullRequestClaim({ repo: 'acme/widgets', pr, head }, { policy: loud, repoId: 42 })

export async function fillStore(store: Store): Promise<Filled> {
  await store.upkeep.recordMode('live')
  await store.upkeep.beat()
  await store.outbox.learnAuthor({ kind: 'user', githubId: 7 })
  const held = await store.runs.claim(pull(1, 'a'), null)
  const done = await store.runs.claim(pull(2, 'a'), null)
  await store.runs.complete(completion(done, 'succeeded', { summary: 'Fine. “ü” 🚀' }), null)
  await store.runs.claim(pull(3, 'a'), null)
  await store.runs.claim(pull(3, 'b'), null)
  await store.runs.claim(jobClaim('nightly:1', 'nightly', { input: '{"n":[1,null]}' }), null)
  await store.runs.claim(jobClaim('nightly:2', 'nightly', { lease: grant() }), null)
  await receiveWebhooks(store)
  const token = await createToken(store)
  await store.outbox.rotateMarkerKey('test')
  return { held, done, token, beingSent: await publishSome(store) }
}

async function receiveWebhooks({ inbox }: Store): Promise<void> {
  const first = await inbox.receive(newWebhook({ webhookId: 'guid-first', lane: 'lane-1' }))
  await inbox.finish(decided(first.entry, claiming(pull(4, 'a'))))
  await inbox.receive(newWebhook({ webhookId: 'guid-waits', lane: 'lane-2' }))
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  const body = { headers: '{"a":"\\u0000"}', body: brotliCompressSync(bytes) }
  await inbox.receive(newWebhook({ webhookId: 'guid-bytes', lane: 'lane-3', body }))
}

async function createToken(store: Store): Promise<Filled['token']> {
  const secret = 'hft_a-secret-for-a-worker'
  const limits = { repos: ['acme/*'], types: ['review'] }
  const token = { scope: 'worker', name: 'builder', userId: null, secret, actor: 'test' }
  const made = await store.tokens.create({ ...token, ...limits }, null)
  return { id: made.token.id, secret }
}

/** One is sent, one is in doubt, and one is being sent. */
async function publishSome(store: Store): Promise<string> {
  const publisher = new ManualPublisher({ store })
  const [first, second, third] = await publisher.lease(3)
  if (first === undefined || second === undefined || third === undefined) {
    throw new Error('too little is due')
  }
  await publisher.send(first)
  await publisher.send(second, noAnswer)
  await publisher.begun(third)
  return third.delivery.id
}
