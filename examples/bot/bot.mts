/**
 * A whole review bot. GitHub sends it webhooks; it claims each pull request before the work, and a
 * Holdfast server on the same database shows progress and result on GitHub. docs/guides/library.md
 * says how to start both.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { openHoldfast } from 'holdfast'
import config from './holdfast.config.mts'

const secret = process.env['WEBHOOK_SECRET'] ?? ''
const holdfast = await openHoldfast(config)

const server = createServer(async (request, response) => {
  const body = await text(request)
  if (!isSigned(body, request.headers['x-hub-signature-256'])) {
    response.writeHead(401).end()
    return
  }
  response.writeHead(202).end()
  if (request.headers['x-github-event'] !== 'pull_request') return
  const deliveryId = String(request.headers['x-github-delivery'])
  await handle(JSON.parse(body) as PullRequestEvent, deliveryId).catch(console.error)
})
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => console.log('bot listening'))

interface PullRequestEvent {
  readonly action: string
  readonly before?: string
  readonly repository: { readonly id: number; readonly full_name: string }
  readonly pull_request: {
    readonly number: number
    readonly title: string
    readonly updated_at: string
    readonly head: { readonly sha: string }
    readonly base: { readonly sha: string }
  }
}

async function handle(event: PullRequestEvent, deliveryId: string): Promise<void> {
  const { repository, pull_request: pullRequest } = event
  if (!['opened', 'reopened', 'synchronize'].includes(event.action)) return
  const gate = await holdfast.checkAndClaimRun({
    repo: repository.full_name,
    repoId: repository.id,
    prNumber: pullRequest.number,
    baseSha: pullRequest.base.sha,
    headSha: pullRequest.head.sha,
    action: event.action,
    deliveryId,
    eventAt: new Date(pullRequest.updated_at),
    ...(event.before !== undefined && { beforeSha: event.before }),
  })
  console.log(`#${pullRequest.number}: ${gate.shouldProcess ? 'work' : 'skip'} (${gate.reason})`)
  if (!gate.shouldProcess) return
  try {
    await gate.report('Reading the title')
    // The work. Give gate.signal to whatever takes long: it aborts when a newer commit arrives.
    const isClear = pullRequest.title.length >= 10
    await gate.complete({
      verdict: isClear ? 'success' : 'failure',
      summary: isClear ? 'The title is clear.' : 'Please write a longer title.',
    })
    console.log(`#${pullRequest.number}: done`)
  } catch (error) {
    // Aborted: this gate has lost the run, so it must not show anything more.
    if (gate.signal.aborted) return
    await gate.complete({ outcome: 'failed' })
    throw error
  }
}

function isSigned(body: string, signature: string | string[] | undefined): boolean {
  const expected = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  return (
    secret !== '' &&
    String(signature).length === expected.length &&
    timingSafeEqual(Buffer.from(String(signature)), Buffer.from(expected))
  )
}

process.once('SIGTERM', () => {
  server.close()
  void holdfast.close()
})
