/**
 * `why`: what happened to a pull request, a run, a delivery or a webhook, and why, told in plain
 * words from audit and state alone. It claims nothing that they do not say, and says so when a part
 * is gone.
 *
 *   question ──▶ known (bounded reads) ──▶ headline, story, awaiting, actions ──▶ text
 */
import { channelsByName } from '../channels/github-channels.ts'
import { targetText } from '../domain/outbox/target-text.ts'
import { NotFoundError, runNotFound } from '../errors.ts'
import { sentence } from '../sentences.ts'
import type { Action } from './why/actions.ts'
import { actionsForUnknown, actionsOf } from './why/actions.ts'
import type { Awaited } from './why/awaiting.ts'
import { awaitedOf } from './why/awaiting.ts'
import type { Known, WhyStore } from './why/known.ts'
import { readDelivery, readRun, readThread, readWebhook } from './why/known.ts'
import { fullRunWords, outside, subjectWords, textOf } from './why/plain-words.ts'
import { notAQuestion, readQuestion } from './why/question.ts'
import { showingWords, standingOf } from './why/showing.ts'
import { runStanding, threadHeadline, webhookWords } from './why/standing.ts'
import type { StoryEntry } from './why/story.ts'
import { tellStory } from './why/story.ts'
import { plainText } from './why/plain-text.ts'

export type { WhyStore } from './why/known.ts'

export interface Why {
  readonly query: string
  readonly kind: 'pull_request' | 'run' | 'webhook' | 'delivery'
  /** `acme/widgets#5`, or what a job or a webhook is about. */
  readonly subject: string
  /** How things stand now. */
  readonly headline: string
  /** Oldest first. */
  readonly story: readonly StoryEntry[]
  readonly awaiting: readonly Awaited[]
  readonly actions: readonly Action[]
  /** All of it, for terminals and chats. */
  readonly text: string
}

/** Rejects with InvalidInputError for what is no question, NotFoundError for an unknown id. */
export async function explain(store: WhyStore, query: string): Promise<Why> {
  const question = readQuestion(query)
  if (question === null) throw notAQuestion()
  switch (question.of) {
    case 'thread':
      return await explainThread(store, query, question)
    case 'run':
      return await explainRun(store, question.id, query)
    case 'webhook':
      return await explainWebhook(store, query, question)
    case 'delivery':
      return await explainDelivery(store, query, question.id)
  }
}

async function explainThread(
  store: WhyStore,
  query: string,
  { repo, number }: { readonly repo: string; readonly number: number },
): Promise<Why> {
  const known = await readThread(store, repo, number)
  const subject = `${repo}#${number}`
  const isUnknown = known.stands.length === 0 && known.webhooks.length === 0
  const headline = threadHeadline(known, subject)
  const actions = isUnknown ? actionsForUnknown(known) : actionsOf(known)
  return told(known, { query, kind: 'pull_request', subject, headline, actions })
}

export async function explainRun(store: WhyStore, id: string, query = id): Promise<Why> {
  const known = await readRun(store, id)
  if (known === null) throw runNotFound(id)
  const [stand] = known.stands
  const subject = stand?.run == null ? id : subjectWords(stand.run)
  const headline =
    stand?.run == null
      ? purgedRunHeadline(id, known)
      : [runStanding(stand, known), ...showingWords(known)].map(sentence).join(' ')
  return told(known, { query, kind: 'run', subject, headline, actions: actionsOf(known) })
}

function purgedRunHeadline(id: string, { rows }: Known): string {
  const purged = rows.findLast(({ type }) => type === 'run.purged')
  const state = purged === undefined ? null : textOf(purged, 'state')
  const was = state === null ? '' : `; it was ${state}`
  return `Run ${id} is past its retention and was removed${was}. Its audit is still there.`
}

async function explainWebhook(
  store: WhyStore,
  query: string,
  { id, sure }: { readonly id: string; readonly sure: boolean },
): Promise<Why> {
  const known = await readWebhook(store, id)
  if (known === null) {
    if (!sure) throw notAQuestion()
    throw new NotFoundError('inbox_entry_not_found', `there is no webhook ${outside(id)}`, {
      hint:
        'It did not come, was refused for its signature, or is past its retention. See what came ' +
        'with "holdfast inbox list", and whether webhooks are accepted with "holdfast doctor".',
    })
  }
  const [entry] = known.webhooks
  const where =
    entry?.repo == null || entry.number === null ? null : `${entry.repo}#${entry.number}`
  const headline =
    entry === undefined
      ? `Webhook ${id} is past its retention and was removed. Its audit is still there.`
      : sentence(webhookWords(entry, known))
  const subject = where ?? entry?.repo ?? id
  return told(known, { query, kind: 'webhook', subject, headline, actions: actionsOf(known) })
}

async function repositoryOf(store: WhyStore, known: Known, id: string): Promise<string> {
  const names = await store.repositories.names([id])
  return names.get(id) ?? known.runs[0]?.repo ?? 'a repository'
}

async function explainDelivery(store: WhyStore, query: string, id: string): Promise<Why> {
  const known = await readDelivery(store, id)
  if (known === null) {
    throw new NotFoundError('delivery_not_found', `there is no delivery ${id}`, {
      hint: 'It may be past its retention. List what there is with "holdfast deliveries".',
    })
  }
  const [delivery] = known.deliveries
  if (delivery === undefined) {
    const headline = `Delivery ${id} was removed with its run. Its audit is still there.`
    return told(known, { query, kind: 'delivery', subject: id, headline, actions: [] })
  }
  const { repositoryId } = delivery
  const repo = repositoryId === null ? null : await repositoryOf(store, known, repositoryId)
  const subject = outside(targetText(delivery, channelsByName.of(delivery.channel), repo))
  const run = known.runs.find((one) => one.id === delivery.runId)
  const whose = run === undefined ? '' : ` for ${fullRunWords(run)}`
  const headline = `${sentence(standingOf(delivery, known))} It is on ${subject}${whose}.`
  return told(known, { query, kind: 'delivery', subject, headline, actions: actionsOf(known) })
}

type Frame = Pick<Why, 'query' | 'kind' | 'subject' | 'headline' | 'actions'>

function told(known: Known, frame: Frame): Why {
  const why = { ...frame, story: tellStory(known), awaiting: awaitedOf(known) }
  return { ...why, text: plainText(why, known.now) }
}
