/** The verbs about steps, executors and what runs use, as cases of `lost-commit-verbs.ts`. */
import type { Store } from '../../../src/store.ts'
import { grant, holderOf, jobClaim, leaseMs, tokenNote, unique } from '../claims.ts'
import { codeOf, StepHolder } from '../steps/step-holder.ts'
import type { Scenario } from './verb-outcome.ts'

async function holderOn(store: Store): Promise<StepHolder> {
  const key = unique('job')
  return new StepHolder(store, await store.runs.claim(jobClaim(key, key), null))
}

/** A holder of a run, with a step that it has begun. */
async function begun(store: Store): Promise<StepHolder> {
  const holder = await holderOn(store)
  await holder.begin('model')
  return holder
}

/** How an executor leases the one pending run of this type. */
async function leaseMany(store: Store, type: string) {
  const key = unique('job')
  await store.runs.claim(jobClaim(key, key, { type, lease: null }), null)
  const grants = [grant({ holder: 'executor' })]
  const request = { grants, leaseMs, type, askedOnly: false, actor: 'executor' }
  return () => store.runs.leaseMany(request)
}

export const stepVerbs: Readonly<Record<string, Scenario>> = {
  'steps.act': async (store, ask) => {
    const holder = await holderOn(store)
    const answer = await ask(() => holder.begin('model'))
    return [answer, await store.steps.get(holder.runId, 'model')]
  },
  'steps.act, taking over': async (store, ask) => {
    const holder = await begun(store)
    holder.forget('model')
    return await ask(() => holder.takeOver('model'))
  },
  'steps.act, with a result': async (store, ask) => {
    const holder = await begun(store)
    const answer = await ask(() => holder.record('model'))
    return [answer, await store.steps.get(holder.runId, 'model')]
  },
  'steps.act, with a late result': async (store, ask) => {
    const holder = await begun(store)
    await store.runs.cancel(holder.runId, 'operator', null)
    const loss = await ask(() => codeOf(holder.record('model')))
    const step = await store.steps.get(holder.runId, 'model')
    return [loss, step?.state, step?.rev]
  },
  'steps.act, holding': async (store, ask) => {
    const holder = await begun(store)
    const answer = await ask(() => holder.hold('model'))
    return [answer, (await store.runs.get(holder.runId))?.state]
  },
  'steps.decide': async (store, ask) => {
    const holder = await begun(store)
    await holder.hold('model')
    const request = { runId: holder.runId, name: 'model', actor: 'operator' }
    return await ask(() => store.steps.decide({ ...request, decision: { do: 'repeat' } }, null))
  },
  'runs.noteGitHubToken': async (store, ask) => {
    const key = unique('job')
    const held = await store.runs.claim(jobClaim(key, key), null)
    await ask(() => store.runs.noteGitHubToken(tokenNote(held)))
  },
  'runs.noteCommandEnd': async (store, ask) => {
    const { runId } = await holderOn(store)
    await ask(() => store.runs.noteCommandEnd(runId, 'executor', { exit_code: 1 }))
  },
  'runs.leaseMany': async (store, ask) => await ask(await leaseMany(store, 'many')),
  'runs.giveUp': async (store, ask) => {
    const [held] = await (await leaseMany(store, 'cut off'))()
    return await ask(() => store.runs.giveUp(holderOf(held!)))
  },
  'runs.takeOverExecutors': async (store, ask) => {
    const lease = await leaseMany(store, 'executed')
    await lease()
    return await ask(() => store.runs.takeOverExecutors())
  },
}
