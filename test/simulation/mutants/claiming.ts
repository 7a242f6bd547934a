/** Mutants of intake and runs: order of heads, rounds, the inbox, the fence of a worker. */
import type { Claim } from '../../../src/domain/claim.ts'
import type { Tamper } from '../../../src/simulation/node.ts'
import { replaceParts } from '../../../src/simulation/replace-parts.ts'
import type { Store } from '../../../src/store.ts'
import type { Mutants } from './mutant.ts'

export const claimingMutants: Mutants = {
  'no fence: a late completion counts': {
    seed: 7,
    mutation: {
      store: (store) =>
        replaceParts(store, {
          runs: replaceParts(store.runs, { complete: completionWithoutFence(store) }),
        }),
    },
    // Rule 12 when the worker gets the answer "done" for a run that another worker completed.
    rules: ['2', '12'],
  },
  'heads are ordered by arrival': {
    seed: 12,
    mutation: {
      store: (store) =>
        withClaims(store, (claim) => ({ ...claim, eventAt: store.now(), beforeSha: null })),
    },
    rules: ['1'],
  },
  'a repeated event repeats finished work': {
    seed: 17,
    mutation: {
      store: (store) =>
        replaceParts(store, {
          inbox: replaceParts(store.inbox, { finish: finishWithRerun(store) }),
        }),
    },
    rules: ['3'],
  },
  'a webhook is answered before it is stored': {
    seed: 25,
    mutation: {
      store: (store) =>
        replaceParts(store, {
          inbox: replaceParts(store.inbox, { receive: receiptBeforeStoring(store) }),
        }),
    },
    rules: ['4'],
  },
  'a run ends without an audit row': {
    seed: 1,
    mutation: {
      store: (store, tamper) =>
        replaceParts(store, {
          runs: replaceParts(store.runs, { complete: unauditedCompletion(store, tamper) }),
        }),
    },
    rules: ['12'],
  },
}

function completionWithoutFence(store: Store): Store['runs']['complete'] {
  return async (request, once) => {
    const held = (await store.runs.get(request.runId))?.leaseHash
    return await store.runs.complete({ ...request, leaseHash: held ?? request.leaseHash }, once)
  }
}

function unauditedCompletion(store: Store, tamper: Tamper): Store['runs']['complete'] {
  return async (request, once) => {
    const run = await store.runs.complete(request, once)
    await tamper(`DELETE FROM audit WHERE run_id = '${run.id}' AND type = 'run.${run.state}'`)
    return run
  }
}

function withClaims(store: Store, change: (claim: Claim) => Claim): Store {
  const finish: Store['inbox']['finish'] = (decided) =>
    store.inbox.finish({
      ...decided,
      acts: decided.acts.map((act) =>
        act.act === 'claim' ? { ...act, claim: change(act.claim) } : act,
      ),
    })
  return replaceParts(store, { inbox: replaceParts(store.inbox, { finish }) })
}

/** An event for a head whose work has succeeded counts as a person's request to rerun it. */
function finishWithRerun(store: Store): Store['inbox']['finish'] {
  return async (decided) => {
    const acts = await Promise.all(
      decided.acts.map(async (act) => {
        if (act.act !== 'claim' || act.claim.repo === null) return act
        const { repo, pr, headSha, type } = act.claim
        const filter = {
          repo,
          type,
          ...(pr !== null && { pr }),
          ...(headSha !== null && { headSha }),
        }
        const { items } = await store.runs.list(filter, { limit: 1, cursor: null })
        const isDone = items[0]?.state === 'succeeded'
        return { ...act, claim: { ...act.claim, rerun: act.claim.rerun || isDone } }
      }),
    )
    return await store.inbox.finish({ ...decided, acts })
  }
}

/** Answers as the store would, and stores the webhook without waiting for it. */
function receiptBeforeStoring(store: Store): Store['inbox']['receive'] {
  return async (webhook) => {
    const existing = await store.inbox.get(webhook.webhookId)
    const stored = store.inbox.receive(webhook)
    if (existing !== null) return await stored
    stored.catch(() => undefined)
    const entry = { ...webhook, id: 'inb_unknown', arrival: 0 } as never
    return { arrived: 'again', entry, storedId: 'inb_unknown' }
  }
}
