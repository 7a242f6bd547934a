/** Mutants of looks at GitHub: the author of a comment, the version of a look, settling. */
import type { OutboxStore } from '../../../src/store/outbox-store.ts'
import type { Store } from '../../../src/store.ts'
import { withOutbox, type Mutants } from './mutant.ts'

export const lookingMutants: Mutants = {
  'no settling: a settling read always counts as right': {
    seed: 33,
    mutation: { store: (store) => withOutbox(store, { record: settledRecord(store, 0) }) },
    rules: ['5', '7'],
  },
  'only the first settling read counts': {
    seed: 33,
    mutation: { store: (store) => withOutbox(store, { record: settledRecord(store, 1) }) },
    rules: ['5', '7'],
  },
  'a look at one version counts for the next': {
    seed: 5,
    mutation: { store: (store) => withOutbox(store, { record: recordForNewestVersion(store) }) },
    rules: ['5', '7'],
  },
  'a lost permission is taken for a lost comment': {
    seed: 9,
    mutation: { store: (store) => withOutbox(store, { record: recordAsAccessible(store) }) },
    rules: ['6'],
  },
  'a review is never found again': {
    seed: 7,
    mutation: { fetch: (fetch) => changedList(fetch, /\/pulls\/\d+\/reviews$/, () => []) },
    rules: ['8b'],
  },
  'a marker is trusted whoever wrote it': {
    seed: 11,
    mutation: { fetch: allCommentsAreOurs },
    rules: ['6'],
  },
}

/** From this step on, a settling read reports the wanted output, whatever GitHub shows. */
function settledRecord({ outbox }: Store, fromStep: number): OutboxStore['record'] {
  return async (hold, finding) => {
    if (finding.what !== 'settled') return await outbox.record(hold, finding)
    const delivery = await outbox.delivery(hold.deliveryId)
    if ((delivery?.protocol.settle?.step ?? 0) < fromStep) return await outbox.record(hold, finding)
    const found = [{ providerId: '1', url: null, current: true }]
    return await outbox.record(hold, { ...finding, found })
  }
}

function recordForNewestVersion({ outbox }: Store): OutboxStore['record'] {
  return async (hold, finding) => {
    const delivery = await outbox.delivery(hold.deliveryId)
    const { versionFence, versionSeq } = delivery ?? hold
    return await outbox.record({ ...hold, versionFence, versionSeq }, finding)
  }
}

function recordAsAccessible({ outbox }: Store): OutboxStore['record'] {
  return async (hold, finding) =>
    await outbox.record(
      hold,
      finding.what === 'examined' ? { ...finding, placeIsThere: true } : finding,
    )
}

type Item = Record<string, unknown>

/** Changes the lists that GitHub answers for this path. */
function changedList(
  fetch: typeof globalThis.fetch,
  path: RegExp,
  change: (items: readonly Item[]) => readonly Item[],
): typeof globalThis.fetch {
  return async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const response = await fetch(input, init)
    const isList = (init?.method ?? 'GET') === 'GET' && path.test(pathname)
    if (response.status !== 200 || !isList) return response
    const changed = change((await response.json()) as Item[])
    return new Response(JSON.stringify(changed), { status: 200, headers: response.headers })
  }
}

/** Lists of comments show all comments as written by us. */
function allCommentsAreOurs(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let ourId: unknown = null
  const asOurs = (items: readonly Item[]): Item[] =>
    items.map((comment) => ({ ...comment, user: { id: ourId } }))
  const changed = changedList(fetch, /\/issues\/\d+\/comments$/, asOurs)
  return async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const response = await changed(input, init)
    const isUs = pathname === '/user' || pathname.startsWith('/users/')
    if (response.status !== 200 || !isUs) return response
    const data = (await response.json()) as Item
    ourId = data['id']
    return new Response(JSON.stringify(data), { status: 200, headers: response.headers })
  }
}
