/** Goal: a real server shows a scraper with a token, and nobody without one, what it did. */
import { afterEach, describe, expect, it } from 'vitest'
import { newPullRequest } from './client.ts'
import { databases, type ServerData } from './server-data.ts'
import { adminToken, Server } from './server.ts'

describe.each(databases)('the metrics of a server on $name', ({ name, makeData }) => {
  let serverData: ServerData | undefined
  let server: Server | undefined
  afterEach(async () => {
    await server?.kill()
    await serverData?.remove()
  })

  it('show claims, ends, runs by state, the store and HTTP', async () => {
    serverData = await makeData()
    const { admin, url } = (server = await Server.start(serverData))
    const claimOf = newPullRequest()
    await admin.claim(claimOf('a'))
    const held = (await admin.claim(claimOf('b'))).body
    await admin.complete(held)
    await admin.claim(newPullRequest()('c'))
    const bare = await fetch(`${url}/metrics`)
    expect(bare.status).toBe(401)
    const made = await admin.post('/v1/tokens', { scope: 'read' })
    const scrape = await fetch(`${url}/metrics`, {
      headers: { authorization: `Bearer ${made.body.token}` },
    })
    expect(scrape.headers.get('content-type')).toMatch(/^text\/plain; version=/)
    const text = await scrape.text()
    const lines = text.split('\n')
    for (const line of [
      'holdfast_claims_total{type="review",reason="new"} 2',
      'holdfast_claims_total{type="review",reason="superseded-prior"} 1',
      'holdfast_runs_ended_total{type="review",state="superseded"} 1',
      'holdfast_runs_ended_total{type="review",state="succeeded"} 1',
      'holdfast_runs{state="running"} 1',
      'holdfast_runs{state="pending"} 0',
      'holdfast_inbox_waiting 0',
      'holdfast_store_seconds_count{verb="runs.claim"} 3',
      'holdfast_http_request_seconds_count{route="/v1/runs",method="POST",status="201"} 3',
      'holdfast_group_commit_size_count{kind="batch"} 4',
    ]) {
      expect(lines).toContain(line)
    }
    const groups = text.includes('holdfast_group_commit_size_count{kind="group"}')
    expect(groups).toBe(name === 'SQLite')
    expect(text).not.toContain(adminToken)
  }, 60_000)
})
